/*
 * One script for every algorithm: it compares, and replaces what is as expected.
 *
 * KEYS come in groups, each of which is replaced as a whole or not at all. ARGV holds how many keys
 * each group has, or an empty text if each has one; then for each key the text that it should hold,
 * the new one and its time to live in ms. An empty text stands for no value; where both texts are
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
local reply = redis.call('TIME')
if #KEYS == 0 then return reply end
local held = redis.call('MGET', unpack(KEYS))
local sizes = {}
for size in string.gmatch(ARGV[1], '%d+') do sizes[#sizes + 1] = tonumber(size) end
local key, group, argument = 1, 0, 2
while key <= #KEYS do
  local last = key + (sizes[group + 1] or 1) - 1
  local same = true
  for place = key, last do
    if (held[place] or '') ~= ARGV[argument + 3 * (place - key)] then same = false end
  end
  if not same then
    reply[#reply + 1] = group
    for place = key, last do reply[#reply + 1] = held[place] or '' end
  else
    for place = key, last do
      local from = argument + 3 * (place - key)
      local new = ARGV[from + 1]
      if new ~= ARGV[from] then
        if new == '' then
          redis.call('DEL', KEYS[place])
        else
          redis.call('SET', KEYS[place], new, 'PX', ARGV[from + 2])
        end
      end
    end
  end
  argument = argument + 3 * (last - key + 1)
  key = last + 1
  group = group + 1
end
return reply
`.trim();

/** Its name on a server that has seen it: the SHA-1 of its text. */
export const COMPARE_AND_SET_SHA = "609139e4fc3d7498dc90de220bbb9e8fe0a5ca65";
