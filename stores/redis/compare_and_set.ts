/*
 * One script for every algorithm: it compares, and replaces what is as expected.
 *
 * KEYS come in groups, each of which is replaced as a whole or not at all. ARGV holds, for each
 * group, how many keys it has, then for each key the text that it should hold, the new one and its
 * time to live in ms. An empty text stands for no value; where both texts are the same, the key is
 * only compared. MGET reads, as it takes a value of another type for none, where GET would stop.
 *
 * The reply: the server's time, then for each group 1, or the texts that its keys hold.
 *
 * A value that was replaced by an equal one in the meantime (ABA) does no harm: a decision depends
 * on nothing but the value and the time.
 */

/** The script. */
export const COMPARE_AND_SET: string = `
local time = redis.call('TIME')
local reply = {time}
if #KEYS == 0 then return reply end
local held = redis.call('MGET', unpack(KEYS))
local key, argument = 1, 1
while key <= #KEYS do
  local last = key + tonumber(ARGV[argument]) - 1
  local expected, same = argument + 1, true
  for place = key, last do
    if (held[place] or '') ~= ARGV[expected] then same = false end
    expected = expected + 3
  end
  argument = argument + 1
  local texts = {}
  for place = key, last do
    local old, new, life = ARGV[argument], ARGV[argument + 1], ARGV[argument + 2]
    if not same then
      texts[#texts + 1] = held[place] or ''
    elseif new == '' then
      if old ~= '' then redis.call('DEL', KEYS[place]) end
    elseif new ~= old then
      redis.call('SET', KEYS[place], new, 'PX', life)
    end
    argument = argument + 3
  end
  reply[#reply + 1] = same and 1 or texts
  key = last + 1
end
return reply
`.trim();

/** Its name on a server that has seen it: the SHA-1 of its text. */
export const COMPARE_AND_SET_SHA = "5ee1d1a798b5f1cb3bc8bf53f99567f1b0a076e0";
