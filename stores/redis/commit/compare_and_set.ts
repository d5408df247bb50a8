/*
 * One script for every algorithm: it compares, and replaces what is as expected.
 *
 * KEYS come in groups, each of which is replaced as a whole or not at all. ARGV holds how many keys
 * each group has, or an empty text if each has one; then for each key the text that it should hold,
 * the new one and its time to live in ms, or an empty text to leave its expiry as it is. An empty text
 * stands for no value; where both texts are
 * the same, the key is only compared. MGET reads, as it takes a value of another type for none,
 * where GET would stop.
 *
 * The reply: the server's seconds and microseconds, then for each group that was not as expected its
 * place and the texts that its keys hold. Most often there is none, and the reply is short.
 *
 * A value that was replaced by an equal one in the meantime (ABA) does no harm: a decision depends
 * on nothing but the value and the time.
 */

/** The script. */
export const COMPARE_AND_SET: string = `
local call = redis.call
local reply = call('TIME')
local count = #KEYS
if count == 0 then return reply end
local held = {}
for first = 1, count, 1000 do
  local last = math.min(first + 999, count)
  for place, text in ipairs(call('MGET', unpack(KEYS, first, last))) do
    held[first - 1 + place] = text
  end
end
local size = string.gmatch(ARGV[1], '%d+')
local key, group, argument = 1, 0, 2
while key <= count do
  local last = key + (size() or 1) - 1
  local same, at = true, argument
  for place = key, last do
    if (held[place] or '') ~= ARGV[at] then same = false end
    at = at + 3
  end
  if not same then
    reply[#reply + 1] = group
    for place = key, last do reply[#reply + 1] = held[place] or '' end
  else
    for place = key, last do
      local new = ARGV[argument + 1]
      if new ~= ARGV[argument] then
        if new == '' then
          call('DEL', KEYS[place])
        elseif ARGV[argument + 2] == '' then
          call('SET', KEYS[place], new, 'KEEPTTL')
        else
          call('SET', KEYS[place], new, 'PX', ARGV[argument + 2])
        end
      end
      argument = argument + 3
    end
  end
  key, group, argument = last + 1, group + 1, at
end
return reply
`.trim();

/** Its name on a server that has seen it: the SHA-1 of its text. */
export const COMPARE_AND_SET_SHA = "4edf64ee8c01b6f8a045e33e749e682ef64eb04a";
