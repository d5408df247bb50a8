/*
 * One script for every algorithm. It compares values, and replaces those that are as expected.
 *
 * KEYS come in groups, each of which is replaced as a whole or not at all. ARGV holds:
 *
 * - how many keys each group has, or an empty text if each group has one;
 * - the owner of the call, and for how many milliseconds it claims the keys of groups that it loses,
 *   or an empty text if it claims none (see claims.ts);
 * - the instant at which the caller has decided, or an empty text if that is not the server's time;
 * - by how many ms that instant may differ from the server's time. If it differs by more, nothing is
 *   as expected, because the server's clock was set, or the caller stood still;
 * - for each key, the text that it should hold, the new text, and the time to live in ms, or an empty
 *   text to leave its expiry as it is.
 *
 * An empty text stands for no value. If both texts of a key are the same, the key is only compared. A
 * client cannot send back bytes that are not valid text, because it decodes them to other characters.
 * So it sends a text that begins with NUL instead. The reply is NUL and the SHA-1 of the value, and
 * the client then sends that. Texts are compared without claims, and a key that others have claimed is
 * not as expected. The script reads by MGET, which treats a value of another type as absent. GET would
 * stop.
 *
 * The reply has the server's seconds and microseconds, and then, for each group that was not as
 * expected, its place and the values of its keys. Usually there is no such group, and the reply is
 * short.
 *
 * A value that was replaced by an equal one meanwhile (ABA) does no harm, because a decision depends
 * on nothing but the value and the time.
 */

/** The script. */
export const COMPARE_AND_SET: string = `
local call = redis.call
local reply = call('TIME')
local count = #KEYS
if count == 0 then return reply end
local now = reply[1] * 1000 + math.floor(reply[2] / 1000)
local held = {}
for first = 1, count, 1000 do
  local last = math.min(first + 999, count)
  for place, text in ipairs(call('MGET', unpack(KEYS, first, last))) do
    held[first - 1 + place] = text
  end
end
local size = string.gmatch(ARGV[1], '%d+')
local owner, life = ARGV[2], ARGV[3]
local isOff = ARGV[4] ~= '' and math.abs(now - ARGV[4]) > ARGV[5] + 0
local others, own, hashed = {}, {}, {}
local function partClaims(place, value)
  local first
  while string.byte(value, -1) == 33 do
    local from, _, till, name = string.find(value, ' (%d+)%.(%w+)!$')
    if not from then break end
    others[place] = others[place] or ''
    if name == owner then own[place] = true end
    if till + 0 > now then
      first = name
      if name == owner then own[place] = 'holds'
      else others[place] = string.sub(value, from) .. others[place] end
    end
    value = string.sub(value, 1, from - 1)
  end
  return value, first ~= nil and first ~= owner
end
local function write(place, new, lifetime)
  local behind = others[place]
  local value = behind and new .. behind or new
  if value == '' then
    call('DEL', KEYS[place])
  elseif lifetime == '' then
    call('SET', KEYS[place], value, 'KEEPTTL')
  else
    call('SET', KEYS[place], value, 'PX', lifetime)
  end
end
local key, group, argument = 1, 0, 6
while key <= count do
  local last = key + (size() or 1) - 1
  local same, at = not isOff, argument
  for place = key, last do
    local text, claimed = held[place] or '', false
    if string.byte(text, -1) == 33 then text, claimed = partClaims(place, text) end
    if string.byte(ARGV[at]) == 0 then
      text = '\\0' .. redis.sha1hex(text)
      hashed[place] = text
    end
    if claimed or text ~= ARGV[at] then same = false end
    at = at + 3
  end
  if not same then
    reply[#reply + 1] = group
    for place = key, last do
      local value = held[place]
      reply[#reply + 1] = hashed[place] or value or ''
      if life ~= '' and own[place] ~= 'holds' then
        local claim = string.format(' %d.%s!', now + life, owner)
        if value then call('SET', KEYS[place], value .. claim, 'KEEPTTL')
        else call('SET', KEYS[place], claim, 'PX', life) end
      end
    end
  else
    for place = key, last do
      local old, new = ARGV[argument], ARGV[argument + 1]
      if new ~= old or own[place] then write(place, new, ARGV[argument + 2]) end
      argument = argument + 3
    end
  end
  key, group, argument = last + 1, group + 1, at
end
return reply
`.trim();

/** Its name on a server that has seen it: the SHA-1 of its text. */
export const COMPARE_AND_SET_SHA = "8e2a232b79d4a3dde7f4f233bbdbe17030218036";
