// Written by "npm run lua" from run_steps.ts and what it uses: change those.
// deno-fmt-ignore-file

/** The script. */
export const STATE_TRANSITIONS: string = `
local js_ceil, js_floor, js_max, js_min, js_fmod
  = math.ceil, math.floor, math.max, math.min, math.fmod
local js_byte, js_find, js_format, js_sub = string.byte, string.find, string.format, string.sub
local function js_isSafeInteger(value)
  return value == js_floor(value) and value < 2 ^ 53 and value > -2 ^ 53
end
local function js_countsAfter(head, words)
  local at, last = #head, #words
  if js_sub(words, 1, at) ~= head then return nil end
  local _, _, one, two = js_find(words, '^ ([1-9]%d*) ?(%d*)$', at + 1)
  if one and #one < 16 then
    if two == '' and js_byte(words, last) ~= 32 then return { one + 0 } end
    if two ~= '' and #two < 16 and js_byte(two) ~= 48 then return { one + 0, two + 0 } end
  end
  local counts, size = {}, 0
  while at < last do
    local _, to, word = js_find(words, '^ (%d+)', at + 1)
    if not to or to - at > 17 or to - at > 2 and js_byte(word) == 48 then return nil end
    local count = word + 0
    if not (count < 2 ^ 53) then return nil end
    size = size + 1
    counts[size] = count
    at = to
  end
  return counts
end
local function js_charCodeAt(value, at)
  return js_byte(value, at + 1)
end
local call = redis.call
local reply = call('TIME')
local count = #KEYS
if count == 0 then return reply end
local now = ARGV[1] + 0
if now < 0 then now = js_floor(reply[1] * 1000 + reply[2] / 1000) end
local texts = call('MGET', unpack(KEYS, 1, js_min(1000, count)))
for first = 1001, count, 1000 do
  local more = call('MGET', unpack(KEYS, first, js_min(first + 999, count)))
  for place = 1, #more do texts[first - 1 + place] = more[place] end
end
local function write(place, text, lifetime)
  if text == nil then
    call('DEL', KEYS[place + 1])
  elseif lifetime == '' then
    call('SET', KEYS[place + 1], text, 'KEEPTTL')
  else
    call('SET', KEYS[place + 1], text, 'PX', lifetime)
  end
end
reply[3] = texts
local LAST_INSTANT = (2 ^ 42)
local FURTHEST = (2 ^ 52)
local MOST_USE = 1000000000
local ZERO = 32
local DIGITS = 90
local LEEWAY = 3000
local LONGEST = (2 ^ 42)
local MARGIN = 5000
local takeTicks
takeTicks = function(argument, cost, times, texts, now, write)
 local _name = argument[1]
 local perMillisecond = argument[2]
 local _1 = argument[3]
 local interval = argument[4]
 local burst = argument[5]
 local last = (js_ceil((LAST_INSTANT / 1)) * perMillisecond)
 local furthest = js_min((((2 ^ 53) - 1) - last), (js_floor((FURTHEST / 1)) * perMillisecond))
 local exact = (furthest / interval)
 local mostUse = js_max(burst, js_min(MOST_USE, js_floor(exact)))
 local tolerance = (burst * interval)
 local tolerance_1 = (burst * interval)
 do
  local key = 0
  while ((key * 2) < #times) do
   local high = (js_charCodeAt(times, (key * 2)) - ZERO)
   local times_1 = (((high * DIGITS) + js_charCodeAt(times, ((key * 2) + 1))) - ZERO)
   if (times_1 > 0) then
    local text = texts[key + 1]
    local result_1
    if (text == false) then
     result_1 = nil
    else
     local result
     local counts = js_countsAfter('t1', text)
     if (counts == nil) then
      result = nil
     else
      if (#counts == 1) then
       result = { counts[1], 0 }
      else
       if ((#counts == 2) and (counts[2] ~= 0)) then
        result = { counts[1], counts[2] }
       else
        result = nil
       end
      end
     end
     if (result == nil) then
      result_1 = nil
     else
      local millisecond = result[1]
      local ticks = result[2]
      if ((js_fmod(millisecond, 1) ~= 0) or not ((ticks < perMillisecond))) then
       result_1 = nil
      else
       local at = (((millisecond / 1) * perMillisecond) + ticks)
       if (js_isSafeInteger(at) and (at >= 0)) then
        result_1 = at
       else
        result_1 = nil
       end
      end
     end
    end
    local choice
    if (result_1 == nil) then
     choice = 0
    else
     choice = result_1
    end
    local result_2
    local cost_1 = (cost * times_1)
    local tick = (now * perMillisecond)
    if ((cost_1 > burst) or (cost_1 == 0)) then
     result_2 = choice
    else
     if (cost_1 < 0) then
      local units = -(cost_1)
      local earlier = (choice - (((units < mostUse) and units or mostUse) * interval))
      if (earlier > tick) then
       result_2 = earlier
      else
       result_2 = 0
      end
     else
      local next = (((choice > tick) and choice or tick) + (cost_1 * interval))
      if ((next - tick) <= tolerance_1) then
       result_2 = next
      else
       result_2 = choice
      end
     end
    end
    local state = result_2
    local choice_1
    if (state == choice) then
     choice_1 = 0
    else
     choice_1 = times_1
    end
    local turn = choice_1
    while (turn < times_1) do
     local result_3
     local tick_1 = (now * perMillisecond)
     if ((cost > burst) or (cost == 0)) then
      result_3 = state
     else
      if (cost < 0) then
       local units_1 = -(cost)
       local earlier_1 = (state - (((units_1 < mostUse) and units_1 or mostUse) * interval))
       if (earlier_1 > tick_1) then
        result_3 = earlier_1
       else
        result_3 = 0
       end
      else
       local next_1 = (((state > tick_1) and state or tick_1) + (cost * interval))
       if ((next_1 - tick_1) <= tolerance_1) then
        result_3 = next_1
       else
        result_3 = state
       end
      end
     end
     if (result_3 == state) then
      break
     end
     state = result_3
     turn = turn + 1
    end
    if (state ~= choice) then
     local choice_2
     if (state == 0) then
      choice_2 = nil
     else
      local steps = js_floor((state / perMillisecond))
      local millisecond_1 = (steps * 1)
      local ticks_1 = (state - (steps * perMillisecond))
      if (ticks_1 == 0) then
       choice_2 = js_format('t1 %d', millisecond_1)
      else
       choice_2 = js_format('t1 %d %d', millisecond_1, ticks_1)
      end
     end
     if (choice_2 ~= text) then
      local result_6
      local result_4
      local wait = ((js_ceil(((state - 0) / perMillisecond)) * 1) - 0)
      if (wait > 0) then
       result_4 = wait
      else
       result_4 = 0
      end
      local end_ = js_floor((result_4 / LEEWAY))
      local choice_3
      if (result_1 == nil) then
       choice_3 = -(1)
      else
       local result_5
       local wait_1 = ((js_ceil(((result_1 - 0) / perMillisecond)) * 1) - 0)
       if (wait_1 > 0) then
        result_5 = wait_1
       else
        result_5 = 0
       end
       choice_3 = js_floor((result_5 / LEEWAY))
      end
      if (choice_3 == end_) then
       result_6 = ''
      else
       result_6 = js_format('%d', (js_min((((end_ + 1) * LEEWAY) - now), LONGEST) + MARGIN))
      end
      write(key, choice_2, result_6)
     end
    end
   end
   key = key + 1
  end
 end
end
if #ARGV > 2 then
  local formula = { ARGV[4] }
  for place = 5, #ARGV do formula[place - 3] = ARGV[place] + 0 end
  takeTicks(formula, ARGV[2] + 0, ARGV[3], texts, now, write)
  return reply
end
local function js_text(value)
  return type(value) == 'number' and js_format('%d', value) or value
end
local function js_countOf(word)
  if word == '0' or #word <= 16 and js_find(word, '^[1-9]%d*$') then return tonumber(word) end
  return 0 / 0
end
local function js_indexOf(value, part, from)
  return (js_find(value, part, from + 1, true) or 0) - 1
end
local function js_slice(value, from, to)
  return js_sub(value, from + 1, to)
end
local function js_push(values, value)
  values[#values + 1] = value
end
local function js_map(values, of)
  local result = {}
  for place = 1, #values do result[place] = of(values[place]) end
  return result
end
local FRESH = { window = 0, previous = 0, current = 0 }
local TAKE = 0
local TAKE_ALL = 3
local SET_INSTANT = 2
local takeSteps, transitionBy, allTransition, encodeAll, decodeAll
encodeAll = function(codecs, states_3)
 local text_9 = 'a1'
 do
  local place_13 = 0
  while (place_13 < #codecs) do
   local own = codecs[place_13 + 1].encode(states_3[place_13 + 1])
   text_9 = js_text(text_9) .. ' ' .. js_text(#own) .. ':' .. js_text(own)
   place_13 = place_13 + 1
  end
 end
 do return text_9 end
end
decodeAll = function(codecs_1, initial_4, text_11)
 if (js_slice(text_11, 0, 2) ~= 'a1') then
  do return nil end
 else
  local states_4 = {  }
  local isFresh_1 = true
  local start = 2
  do
   local place_14 = 0
   while (place_14 < #codecs_1) do
    local colon = js_indexOf(text_11, ':', start)
    if ((colon < 0) or (js_slice(text_11, start, (start + 1)) ~= ' ')) then
     do return nil end
    else
     local end_1 = ((colon + 1) + js_countOf(js_slice(text_11, (start + 1), colon)))
     if not ((end_1 <= #text_11)) then
      do return nil end
     else
      local state_10 = codecs_1[place_14 + 1].decode(js_slice(text_11, (colon + 1), end_1))
      if (state_10 == nil) then
       do return nil end
      else
       if (state_10 ~= initial_4[place_14 + 1]) then
        isFresh_1 = false
       end
       states_4[#states_4 + 1] = state_10
       start = end_1
      end
     end
    end
    place_14 = place_14 + 1
   end
  end
  if (start ~= #text_11) then
   do return nil end
  else
   if isFresh_1 then
    do return initial_4 end
   else
    do return states_4 end
   end
  end
 end
end
allTransition = function(formula_1)
 local parts = {  }
 do
  local place_10 = 1
  while (place_10 < #formula_1) do
   parts[#parts + 1] = transitionBy(formula_1[place_10 + 1])
   place_10 = place_10 + 1
  end
 end
 local initial_3 = js_map(parts, function(part)
  do return part.initial end
 end)
 local takes = js_map(parts, function(part_1)
  do return part_1.take end
 end)
 do return {
  initial = initial_3,
  take = function(states, now_18, cost_10)
   if (cost_10 == 0) then
    do return states end
   else
    local next_3 = {  }
    local isChanged = false
    local isFresh = true
    do
     local place_11 = 0
     while (place_11 < #takes) do
      local state_9 = states[place_11 + 1]
      local taken = takes[place_11 + 1](state_9, now_18, cost_10)
      if (taken ~= state_9) then
       isChanged = true
      else
       if ((cost_10 > 0) and true) then
        do return states end
       end
      end
      if (taken ~= initial_3[place_11 + 1]) then
       isFresh = false
      end
      next_3[#next_3 + 1] = taken
      place_11 = place_11 + 1
     end
    end
    if not (isChanged) then
     do return states end
    else
     if isFresh then
      do return initial_3 end
     else
      do return next_3 end
     end
    end
   end
  end,
  reset = function(states_1, now_19)
   local longest = 0
   do
    local place_12 = 0
    while (place_12 < #parts) do
     longest = js_max(longest, parts[place_12 + 1].reset(states_1[place_12 + 1], now_19))
     place_12 = place_12 + 1
    end
   end
   do return longest end
  end,
  encode = function(states_2)
   do return encodeAll(parts, states_2) end
  end,
  decode = function(text_10)
   do return decodeAll(parts, initial_3, text_10) end
  end,
 } end
end
transitionBy = function(formula)
 local name = formula[1]
 local a = formula[2]
 local b = formula[3]
 local c = formula[4]
 local d = formula[5]
 if (name == 'ticks') then
  local last_1 = (js_ceil((LAST_INSTANT / 1)) * a)
  local furthest_1 = js_min((((2 ^ 53) - 1) - last_1), (js_floor((FURTHEST / 1)) * a))
  local exact_1 = (furthest_1 / c)
  local mostUse_1 = js_max(d, js_min(MOST_USE, js_floor(exact_1)))
  local tolerance_2 = (d * c)
  local tolerance_3 = (d * c)
  do return {
   initial = 0,
   take = function(tat, now_2, cost_2)
    local tick_2 = (now_2 * a)
    if ((cost_2 > d) or (cost_2 == 0)) then
     do return tat end
    else
     if (cost_2 < 0) then
      local units_2 = -(cost_2)
      local earlier_2 = (tat - (((units_2 < mostUse_1) and units_2 or mostUse_1) * c))
      if (earlier_2 > tick_2) then
       do return earlier_2 end
      else
       do return 0 end
      end
     else
      local next_2 = (((tat > tick_2) and tat or tick_2) + (cost_2 * c))
      if ((next_2 - tick_2) <= tolerance_3) then
       do return next_2 end
      else
       do return tat end
      end
     end
    end
   end,
   reset = function(tat_1, now_3)
    local wait_2 = ((js_ceil(((tat_1 - 0) / a)) * 1) - now_3)
    if (wait_2 > 0) then
     do return wait_2 end
    else
     do return 0 end
    end
   end,
   encode = function(at_1)
    local steps_2 = js_floor((at_1 / a))
    local millisecond_2 = (steps_2 * 1)
    local ticks_2 = (at_1 - (steps_2 * a))
    if (ticks_2 == 0) then
     do return js_format('t1 %d', millisecond_2) end
    else
     do return js_format('t1 %d %d', millisecond_2, ticks_2) end
    end
   end,
   decode = function(text_1)
    local result_7
    local counts_1 = js_countsAfter('t1', text_1)
    if (counts_1 == nil) then
     result_7 = nil
    else
     if (#counts_1 == 1) then
      result_7 = { counts_1[1], 0 }
     else
      if ((#counts_1 == 2) and (counts_1[2] ~= 0)) then
       result_7 = { counts_1[1], counts_1[2] }
      else
       result_7 = nil
      end
     end
    end
    if (result_7 == nil) then
     do return nil end
    else
     local millisecond_3 = result_7[1]
     local ticks_3 = result_7[2]
     if ((js_fmod(millisecond_3, 1) ~= 0) or not ((ticks_3 < a))) then
      do return nil end
     else
      local at_2 = (((millisecond_3 / 1) * a) + ticks_3)
      if (js_isSafeInteger(at_2) and (at_2 >= 0)) then
       do return at_2 end
      else
       do return nil end
      end
     end
    end
   end,
  } end
 else
  if (name == 'steps') then
   local last_2 = (js_ceil((LAST_INSTANT / b)) * a)
   local furthest_2 = js_min((((2 ^ 53) - 1) - last_2), (js_floor((FURTHEST / b)) * a))
   local exact_2 = (furthest_2 / c)
   local mostUse_2 = js_max(d, js_min(MOST_USE, js_floor(exact_2)))
   local tolerance_4 = (d * c)
   do return {
    initial = 0,
    take = function(state_1, now_4, cost_3)
     if (cost_3 > 0) then
      local result_8
      local ticks_4 = (state_1 - (js_floor((now_4 / b)) * a))
      if (ticks_4 > 0) then
       result_8 = ticks_4
      else
       result_8 = 0
      end
      if (cost_3 <= js_floor(((tolerance_4 - result_8) / c))) then
       local ticks_5 = (cost_3 * c)
       local instant = (js_floor((now_4 / b)) * a)
       do return (((state_1 > instant) and state_1 or instant) + ticks_5) end
      else
       do return state_1 end
      end
     else
      if (cost_3 < 0) then
       local units_3 = -(cost_3)
       local decrement = (((units_3 < mostUse_2) and units_3 or mostUse_2) * c)
       local result_9
       local ticks_6 = (state_1 - (js_floor((now_4 / b)) * a))
       if (ticks_6 > 0) then
        result_9 = ticks_6
       else
        result_9 = 0
       end
       if (decrement < result_9) then
        do return (state_1 - decrement) end
       else
        do return 0 end
       end
      else
       do return state_1 end
      end
     end
    end,
    reset = function(tat_2, now_5)
     local wait_3 = ((js_ceil(((tat_2 - 0) / a)) * b) - now_5)
     if (wait_3 > 0) then
      do return wait_3 end
     else
      do return 0 end
     end
    end,
    encode = function(at_3)
     local steps_3 = js_floor((at_3 / a))
     local millisecond_4 = (steps_3 * b)
     local ticks_7 = (at_3 - (steps_3 * a))
     if (ticks_7 == 0) then
      do return js_format('t1 %d', millisecond_4) end
     else
      do return js_format('t1 %d %d', millisecond_4, ticks_7) end
     end
    end,
    decode = function(text_2)
     local result_10
     local counts_2 = js_countsAfter('t1', text_2)
     if (counts_2 == nil) then
      result_10 = nil
     else
      if (#counts_2 == 1) then
       result_10 = { counts_2[1], 0 }
      else
       if ((#counts_2 == 2) and (counts_2[2] ~= 0)) then
        result_10 = { counts_2[1], counts_2[2] }
       else
        result_10 = nil
       end
      end
     end
     if (result_10 == nil) then
      do return nil end
     else
      local millisecond_5 = result_10[1]
      local ticks_8 = result_10[2]
      if ((js_fmod(millisecond_5, b) ~= 0) or not ((ticks_8 < a))) then
       do return nil end
      else
       local at_4 = (((millisecond_5 / b) * a) + ticks_8)
       if (js_isSafeInteger(at_4) and (at_4 >= 0)) then
        do return at_4 end
       else
        do return nil end
       end
      end
     end
    end,
   } end
  else
   if (name == 'fine') then
    local initial = { millisecond = 0, ticks = 0 }
    local furthest_3 = js_min(((2 ^ 53) - 1), (FURTHEST * a))
    local exact_3 = (furthest_3 / b)
    local mostUse_3 = js_max(c, js_min(MOST_USE, js_floor(exact_3)))
    local tolerance_5 = (c * b)
    do return {
     initial = initial,
     take = function(state_2, now_6, cost_4)
      if (cost_4 > 0) then
       local result_11
       local ticks_9 = (((state_2.millisecond - now_6) * a) + state_2.ticks)
       if (ticks_9 > 0) then
        result_11 = ticks_9
       else
        result_11 = 0
       end
       if (cost_4 <= js_floor(((tolerance_5 - result_11) / b))) then
        local ticks_10 = (cost_4 * b)
        local whole = js_floor((ticks_10 / a))
        local rest = (ticks_10 - (whole * a))
        local choice_4
        if (state_2.millisecond >= now_6) then
         choice_4 = { state_2.millisecond, state_2.ticks }
        else
         choice_4 = { now_6, 0 }
        end
        local millisecond_6 = choice_4[1]
        local beyond = choice_4[2]
        if (beyond >= (a - rest)) then
         local millisecond_7 = ((millisecond_6 + whole) + 1)
         local ticks_11 = (beyond - (a - rest))
         do return { millisecond = millisecond_7, ticks = ticks_11 } end
        else
         local millisecond_8 = (millisecond_6 + whole)
         local ticks_12 = (beyond + rest)
         do return { millisecond = millisecond_8, ticks = ticks_12 } end
        end
       else
        do return state_2 end
       end
      else
       if (cost_4 < 0) then
        local units_4 = -(cost_4)
        local decrement_1 = (((units_4 < mostUse_3) and units_4 or mostUse_3) * b)
        local result_12
        local ticks_13 = (((state_2.millisecond - now_6) * a) + state_2.ticks)
        if (ticks_13 > 0) then
         result_12 = ticks_13
        else
         result_12 = 0
        end
        if (decrement_1 < result_12) then
         local whole_1 = js_floor((decrement_1 / a))
         local rest_1 = (decrement_1 - (whole_1 * a))
         if (state_2.ticks >= rest_1) then
          local millisecond_9 = (state_2.millisecond - whole_1)
          local ticks_14 = (state_2.ticks - rest_1)
          do return { millisecond = millisecond_9, ticks = ticks_14 } end
         else
          local millisecond_10 = ((state_2.millisecond - whole_1) - 1)
          local ticks_15 = (state_2.ticks + (a - rest_1))
          do return { millisecond = millisecond_10, ticks = ticks_15 } end
         end
        else
         do return initial end
        end
       else
        do return state_2 end
       end
      end
     end,
     reset = function(tat_3, now_7)
      local wait_4 = ((tat_3.millisecond + js_ceil(((tat_3.ticks - 0) / a))) - now_7)
      if (wait_4 > 0) then
       do return wait_4 end
      else
       do return 0 end
      end
     end,
     encode = function(at_5)
      if (at_5.ticks == 0) then
       do return 't1 ' .. js_text(at_5.millisecond) end
      else
       do return 't1 ' .. js_text(at_5.millisecond) .. ' ' .. js_text(at_5.ticks) end
      end
     end,
     decode = function(text_3)
      local result_13
      local counts_3 = js_countsAfter('t1', text_3)
      if (counts_3 == nil) then
       result_13 = nil
      else
       if (#counts_3 == 1) then
        result_13 = { counts_3[1], 0 }
       else
        if ((#counts_3 == 2) and (counts_3[2] ~= 0)) then
         result_13 = { counts_3[1], counts_3[2] }
        else
         result_13 = nil
        end
       end
      end
      if (result_13 == nil) then
       do return nil end
      else
       local millisecond_11 = result_13[1]
       local ticks_16 = result_13[2]
       if ((not ((js_isSafeInteger(millisecond_11) and (millisecond_11 >= 0))) or not ((js_isSafeInteger(ticks_16) and (ticks_16 >= 0)))) or (ticks_16 >= a)) then
        do return nil end
       else
        if ((millisecond_11 == 0) and (ticks_16 == 0)) then
         do return initial end
        else
         do return { millisecond = millisecond_11, ticks = ticks_16 } end
        end
       end
      end
     end,
    } end
   else
    if (name == 'counter') then
     local exact_4 = (((2 ^ 53) - 1) / b)
     local mostUse_4 = js_max(a, js_min(MOST_USE, js_floor(exact_4)))
     do return {
      initial = FRESH,
      take = function(state_3, now_8, cost_5)
       if (cost_5 > 0) then
        local result_14
        local window = js_floor((now_8 / b))
        if (window <= state_3.window) then
         result_14 = state_3
        else
         local previous = ((window == (state_3.window + 1)) and state_3.current or 0)
         result_14 = { window = window, previous = previous, current = 0 }
        end
        local result_15
        local elapsed = (now_8 - (result_14.window * b))
        if (elapsed > 0) then
         result_15 = (b - elapsed)
        else
         result_15 = b
        end
        if (cost_5 <= ((a - js_ceil(((result_14.previous * result_15) / b))) - result_14.current)) then
         local result_16
         local window_1 = js_floor((now_8 / b))
         if (window_1 <= state_3.window) then
          result_16 = state_3
         else
          local previous_1 = ((window_1 == (state_3.window + 1)) and state_3.current or 0)
          result_16 = { window = window_1, previous = previous_1, current = 0 }
         end
         local current = (result_16.current + cost_5)
         do return { window = result_16.window, previous = result_16.previous, current = current } end
        else
         do return state_3 end
        end
       else
        if (cost_5 < 0) then
         local units_5 = -(cost_5)
         local age = (js_floor((now_8 / b)) - state_3.window)
         if (age > 1) then
          do return FRESH end
         else
          if (units_5 < state_3.current) then
           local current_1 = (state_3.current - units_5)
           do return { window = state_3.window, previous = state_3.previous, current = current_1 } end
          else
           local choice_5
           if (age == 1) then
            choice_5 = 0
           else
            choice_5 = (state_3.previous - (units_5 - state_3.current))
           end
           if (choice_5 > 0) then
            local window_2 = (state_3.window - 1)
            do return { window = window_2, previous = 0, current = choice_5 } end
           else
            do return FRESH end
           end
          end
         end
        else
         do return state_3 end
        end
       end
      end,
      reset = function(state_4, now_9)
       local result_17
       if (0 >= state_4.current) then
        local room = (0 - state_4.current)
        if (state_4.previous <= room) then
         result_17 = (state_4.window * b)
        else
         result_17 = (((state_4.window + 1) * b) - js_floor(((room * b) / state_4.previous)))
        end
       else
        local window_3 = (state_4.window + 1)
        if (state_4.current <= 0) then
         result_17 = (window_3 * b)
        else
         result_17 = (((window_3 + 1) * b) - js_floor(((0 * b) / state_4.current)))
        end
       end
       do return js_max(0, (result_17 - now_9)) end
      end,
      encode = function(argument_1)
       do return 'c1 ' .. js_text(argument_1.window) .. ' ' .. js_text(argument_1.previous) .. ' ' .. js_text(argument_1.current) end
      end,
      decode = function(text_4)
       local counts_4 = js_countsAfter('c1', text_4)
       if ((counts_4 == nil) or (#counts_4 ~= 3)) then
        do return nil end
       else
        local window_4 = counts_4[1]
        local previous_2 = counts_4[2]
        local current_2 = counts_4[3]
        if ((not ((js_isSafeInteger(window_4) and (window_4 >= 0))) or not ((js_isSafeInteger(previous_2) and (previous_2 >= 0)))) or not ((js_isSafeInteger(current_2) and (current_2 >= 0)))) then
         do return nil end
        else
         if ((previous_2 > mostUse_4) or (current_2 > mostUse_4)) then
          do return nil end
         else
          if (current_2 == 0) then
           if ((window_4 == 0) and (previous_2 == 0)) then
            do return FRESH end
           else
            do return nil end
           end
          else
           do return { window = window_4, previous = previous_2, current = current_2 } end
          end
         end
        end
       end
      end,
     } end
    else
     if (name == 'packedInRow') then
      local offset = js_fmod((b - c), b)
      local last_3 = js_floor(((LAST_INSTANT + offset) / b))
      local exact_5 = (2 ^ 53)
      local most = js_min(js_max(a, js_min(MOST_USE, js_floor(exact_5))), js_floor((((2 ^ 53) - 1) / (last_3 + 1))))
      do return {
       initial = 0,
       take = function(state_5, now_10, cost_6)
        if (cost_6 > 0) then
         local result_20
         local result_18
         if (state_5 == 0) then
          result_18 = -(math.huge)
         else
          result_18 = js_floor(((state_5 - 1) / most))
         end
         local result_19
         local index = js_floor(((now_10 + offset) / b))
         if (index > result_18) then
          result_19 = index
         else
          result_19 = result_18
         end
         if (result_19 == result_18) then
          if (state_5 == 0) then
           result_20 = 0
          else
           result_20 = (state_5 - (result_18 * most))
          end
         else
          result_20 = 0
         end
         if (cost_6 <= (a - result_20)) then
          local result_21
          if (state_5 == 0) then
           result_21 = -(math.huge)
          else
           result_21 = js_floor(((state_5 - 1) / most))
          end
          local result_22
          local index_1 = js_floor(((now_10 + offset) / b))
          if (index_1 > result_21) then
           result_22 = index_1
          else
           result_22 = result_21
          end
          local choice_6
          if (result_22 == result_21) then
           if (state_5 == 0) then
            choice_6 = 0
           else
            choice_6 = (state_5 - (result_21 * most))
           end
          else
           choice_6 = 0
          end
          local used = (choice_6 + cost_6)
          do return ((result_22 * most) + used) end
         else
          do return state_5 end
         end
        else
         if (cost_6 < 0) then
          local units_6 = -(cost_6)
          local result_25
          local result_23
          if (state_5 == 0) then
           result_23 = -(math.huge)
          else
           result_23 = js_floor(((state_5 - 1) / most))
          end
          local result_24
          local index_2 = js_floor(((now_10 + offset) / b))
          if (index_2 > result_23) then
           result_24 = index_2
          else
           result_24 = result_23
          end
          if (result_24 == result_23) then
           if (state_5 == 0) then
            result_25 = 0
           else
            result_25 = (state_5 - (result_23 * most))
           end
          else
           result_25 = 0
          end
          if (units_6 < result_25) then
           local result_26
           if (state_5 == 0) then
            result_26 = -(math.huge)
           else
            result_26 = js_floor(((state_5 - 1) / most))
           end
           local used_1 = (result_25 - units_6)
           do return ((result_26 * most) + used_1) end
          else
           do return 0 end
          end
         else
          do return state_5 end
         end
        end
       end,
       reset = function(use, now_11)
        local result_29
        local result_27
        if (use == 0) then
         result_27 = -(math.huge)
        else
         result_27 = js_floor(((use - 1) / most))
        end
        local result_28
        local index_3 = js_floor(((now_11 + offset) / b))
        if (index_3 > result_27) then
         result_28 = index_3
        else
         result_28 = result_27
        end
        if (result_28 == result_27) then
         if (use == 0) then
          result_29 = 0
         else
          result_29 = (use - (result_27 * most))
         end
        else
         result_29 = 0
        end
        if (result_29 == 0) then
         do return 0 end
        else
         local result_30
         if (use == 0) then
          result_30 = -(math.huge)
         else
          result_30 = js_floor(((use - 1) / most))
         end
         do return ((((result_30 + 1) * b) - offset) - now_11) end
        end
       end,
       encode = function(use_1)
        local result_31
        if (use_1 == 0) then
         result_31 = -(math.huge)
        else
         result_31 = js_floor(((use_1 - 1) / most))
        end
        local result_33
        local result_32
        if (use_1 == 0) then
         result_32 = -(math.huge)
        else
         result_32 = js_floor(((use_1 - 1) / most))
        end
        if (use_1 == 0) then
         result_33 = 0
        else
         result_33 = (use_1 - (result_32 * most))
        end
        if (result_33 == 0) then
         do return 'f1' end
        else
         do return 'f1 ' .. js_text(result_31) .. ' ' .. js_text(result_33) end
        end
       end,
       decode = function(text_5)
        if (text_5 == 'f1') then
         do return 0 end
        else
         local counts_5 = js_countsAfter('f1', text_5)
         if ((counts_5 == nil) or (#counts_5 ~= 2)) then
          do return nil end
         else
          local place = counts_5[1]
          local used_2 = counts_5[2]
          if (((((js_isSafeInteger(place) and (place >= 0)) and (place <= last_3)) and (js_isSafeInteger(used_2) and (used_2 >= 0))) and (used_2 >= 1)) and (used_2 <= most)) then
           local place_1 = counts_5[1]
           local used_3 = counts_5[2]
           do return ((place_1 * most) + used_3) end
          else
           do return nil end
          end
         end
        end
       end,
      } end
     else
      if (name == 'wideInRow') then
       local offset_1 = js_fmod((b - c), b)
       local last_4 = js_floor(((LAST_INSTANT + offset_1) / b))
       local exact_6 = (2 ^ 53)
       local most_1 = js_max(a, js_min(MOST_USE, js_floor(exact_6)))
       local place_2 = -(math.huge)
       local initial_1 = { place = place_2, used = 0 }
       do return {
        initial = initial_1,
        take = function(state_6, now_12, cost_7)
         if (cost_7 > 0) then
          local result_35
          local result_34
          local index_4 = js_floor(((now_12 + offset_1) / b))
          if (index_4 > state_6.place) then
           result_34 = index_4
          else
           result_34 = state_6.place
          end
          if (result_34 == state_6.place) then
           result_35 = state_6.used
          else
           result_35 = 0
          end
          if (cost_7 <= (a - result_35)) then
           local result_36
           local index_5 = js_floor(((now_12 + offset_1) / b))
           if (index_5 > state_6.place) then
            result_36 = index_5
           else
            result_36 = state_6.place
           end
           local choice_7
           if (result_36 == state_6.place) then
            choice_7 = state_6.used
           else
            choice_7 = 0
           end
           local used_4 = (choice_7 + cost_7)
           do return { place = result_36, used = used_4 } end
          else
           do return state_6 end
          end
         else
          if (cost_7 < 0) then
           local units_7 = -(cost_7)
           local result_38
           local result_37
           local index_6 = js_floor(((now_12 + offset_1) / b))
           if (index_6 > state_6.place) then
            result_37 = index_6
           else
            result_37 = state_6.place
           end
           if (result_37 == state_6.place) then
            result_38 = state_6.used
           else
            result_38 = 0
           end
           if (units_7 < result_38) then
            local used_5 = (result_38 - units_7)
            do return { place = state_6.place, used = used_5 } end
           else
            do return initial_1 end
           end
          else
           do return state_6 end
          end
         end
        end,
        reset = function(use_2, now_13)
         local result_40
         local result_39
         local index_7 = js_floor(((now_13 + offset_1) / b))
         if (index_7 > use_2.place) then
          result_39 = index_7
         else
          result_39 = use_2.place
         end
         if (result_39 == use_2.place) then
          result_40 = use_2.used
         else
          result_40 = 0
         end
         if (result_40 == 0) then
          do return 0 end
         else
          do return ((((use_2.place + 1) * b) - offset_1) - now_13) end
         end
        end,
        encode = function(use_3)
         if (use_3.used == 0) then
          do return 'f1' end
         else
          do return 'f1 ' .. js_text(use_3.place) .. ' ' .. js_text(use_3.used) end
         end
        end,
        decode = function(text_6)
         if (text_6 == 'f1') then
          do return initial_1 end
         else
          local counts_6 = js_countsAfter('f1', text_6)
          if ((counts_6 == nil) or (#counts_6 ~= 2)) then
           do return nil end
          else
           local place_3 = counts_6[1]
           local used_6 = counts_6[2]
           if (((((js_isSafeInteger(place_3) and (place_3 >= 0)) and (place_3 <= last_4)) and (js_isSafeInteger(used_6) and (used_6 >= 0))) and (used_6 >= 1)) and (used_6 <= most_1)) then
            local place_4 = counts_6[1]
            local used_7 = counts_6[2]
            do return { place = place_4, used = used_7 } end
           else
            do return nil end
           end
          end
         end
        end,
       } end
      else
       if (name == 'packedOpened') then
        local exact_7 = (2 ^ 53)
        local most_2 = js_min(js_max(a, js_min(MOST_USE, js_floor(exact_7))), js_floor((((2 ^ 53) - 1) / (LAST_INSTANT + 1))))
        do return {
         initial = 0,
         take = function(state_7, now_14, cost_8)
          if (cost_8 > 0) then
           local result_43
           local result_41
           if (state_7 == 0) then
            result_41 = -(math.huge)
           else
            result_41 = js_floor(((state_7 - 1) / most_2))
           end
           local result_42
           if (now_14 < (result_41 + b)) then
            result_42 = result_41
           else
            result_42 = now_14
           end
           if (result_42 == result_41) then
            if (state_7 == 0) then
             result_43 = 0
            else
             result_43 = (state_7 - (result_41 * most_2))
            end
           else
            result_43 = 0
           end
           if (cost_8 <= (a - result_43)) then
            local result_44
            if (state_7 == 0) then
             result_44 = -(math.huge)
            else
             result_44 = js_floor(((state_7 - 1) / most_2))
            end
            local result_45
            if (now_14 < (result_44 + b)) then
             result_45 = result_44
            else
             result_45 = now_14
            end
            local choice_8
            if (result_45 == result_44) then
             if (state_7 == 0) then
              choice_8 = 0
             else
              choice_8 = (state_7 - (result_44 * most_2))
             end
            else
             choice_8 = 0
            end
            local used_8 = (choice_8 + cost_8)
            do return ((result_45 * most_2) + used_8) end
           else
            do return state_7 end
           end
          else
           if (cost_8 < 0) then
            local units_8 = -(cost_8)
            local result_48
            local result_46
            if (state_7 == 0) then
             result_46 = -(math.huge)
            else
             result_46 = js_floor(((state_7 - 1) / most_2))
            end
            local result_47
            if (now_14 < (result_46 + b)) then
             result_47 = result_46
            else
             result_47 = now_14
            end
            if (result_47 == result_46) then
             if (state_7 == 0) then
              result_48 = 0
             else
              result_48 = (state_7 - (result_46 * most_2))
             end
            else
             result_48 = 0
            end
            if (units_8 < result_48) then
             local result_49
             if (state_7 == 0) then
              result_49 = -(math.huge)
             else
              result_49 = js_floor(((state_7 - 1) / most_2))
             end
             local used_9 = (result_48 - units_8)
             do return ((result_49 * most_2) + used_9) end
            else
             do return 0 end
            end
           else
            do return state_7 end
           end
          end
         end,
         reset = function(use_4, now_15)
          local result_52
          local result_50
          if (use_4 == 0) then
           result_50 = -(math.huge)
          else
           result_50 = js_floor(((use_4 - 1) / most_2))
          end
          local result_51
          if (now_15 < (result_50 + b)) then
           result_51 = result_50
          else
           result_51 = now_15
          end
          if (result_51 == result_50) then
           if (use_4 == 0) then
            result_52 = 0
           else
            result_52 = (use_4 - (result_50 * most_2))
           end
          else
           result_52 = 0
          end
          if (result_52 == 0) then
           do return 0 end
          else
           local result_53
           if (use_4 == 0) then
            result_53 = -(math.huge)
           else
            result_53 = js_floor(((use_4 - 1) / most_2))
           end
           do return ((result_53 + b) - now_15) end
          end
         end,
         encode = function(use_5)
          local result_54
          if (use_5 == 0) then
           result_54 = -(math.huge)
          else
           result_54 = js_floor(((use_5 - 1) / most_2))
          end
          local result_56
          local result_55
          if (use_5 == 0) then
           result_55 = -(math.huge)
          else
           result_55 = js_floor(((use_5 - 1) / most_2))
          end
          if (use_5 == 0) then
           result_56 = 0
          else
           result_56 = (use_5 - (result_55 * most_2))
          end
          if (result_56 == 0) then
           do return 'f1' end
          else
           do return 'f1 ' .. js_text(result_54) .. ' ' .. js_text(result_56) end
          end
         end,
         decode = function(text_7)
          if (text_7 == 'f1') then
           do return 0 end
          else
           local counts_7 = js_countsAfter('f1', text_7)
           if ((counts_7 == nil) or (#counts_7 ~= 2)) then
            do return nil end
           else
            local place_5 = counts_7[1]
            local used_10 = counts_7[2]
            if (((((js_isSafeInteger(place_5) and (place_5 >= 0)) and (place_5 <= LAST_INSTANT)) and (js_isSafeInteger(used_10) and (used_10 >= 0))) and (used_10 >= 1)) and (used_10 <= most_2)) then
             local place_6 = counts_7[1]
             local used_11 = counts_7[2]
             do return ((place_6 * most_2) + used_11) end
            else
             do return nil end
            end
           end
          end
         end,
        } end
       else
        if (name == 'wideOpened') then
         local exact_8 = (2 ^ 53)
         local most_3 = js_max(a, js_min(MOST_USE, js_floor(exact_8)))
         local place_7 = -(math.huge)
         local initial_2 = { place = place_7, used = 0 }
         do return {
          initial = initial_2,
          take = function(state_8, now_16, cost_9)
           if (cost_9 > 0) then
            local result_58
            local result_57
            if (now_16 < (state_8.place + b)) then
             result_57 = state_8.place
            else
             result_57 = now_16
            end
            if (result_57 == state_8.place) then
             result_58 = state_8.used
            else
             result_58 = 0
            end
            if (cost_9 <= (a - result_58)) then
             local result_59
             if (now_16 < (state_8.place + b)) then
              result_59 = state_8.place
             else
              result_59 = now_16
             end
             local choice_9
             if (result_59 == state_8.place) then
              choice_9 = state_8.used
             else
              choice_9 = 0
             end
             local used_12 = (choice_9 + cost_9)
             do return { place = result_59, used = used_12 } end
            else
             do return state_8 end
            end
           else
            if (cost_9 < 0) then
             local units_9 = -(cost_9)
             local result_61
             local result_60
             if (now_16 < (state_8.place + b)) then
              result_60 = state_8.place
             else
              result_60 = now_16
             end
             if (result_60 == state_8.place) then
              result_61 = state_8.used
             else
              result_61 = 0
             end
             if (units_9 < result_61) then
              local used_13 = (result_61 - units_9)
              do return { place = state_8.place, used = used_13 } end
             else
              do return initial_2 end
             end
            else
             do return state_8 end
            end
           end
          end,
          reset = function(use_6, now_17)
           local result_63
           local result_62
           if (now_17 < (use_6.place + b)) then
            result_62 = use_6.place
           else
            result_62 = now_17
           end
           if (result_62 == use_6.place) then
            result_63 = use_6.used
           else
            result_63 = 0
           end
           if (result_63 == 0) then
            do return 0 end
           else
            do return ((use_6.place + b) - now_17) end
           end
          end,
          encode = function(use_7)
           if (use_7.used == 0) then
            do return 'f1' end
           else
            do return 'f1 ' .. js_text(use_7.place) .. ' ' .. js_text(use_7.used) end
           end
          end,
          decode = function(text_8)
           if (text_8 == 'f1') then
            do return initial_2 end
           else
            local counts_8 = js_countsAfter('f1', text_8)
            if ((counts_8 == nil) or (#counts_8 ~= 2)) then
             do return nil end
            else
             local place_8 = counts_8[1]
             local used_14 = counts_8[2]
             if (((((js_isSafeInteger(place_8) and (place_8 >= 0)) and (place_8 <= LAST_INSTANT)) and (js_isSafeInteger(used_14) and (used_14 >= 0))) and (used_14 >= 1)) and (used_14 <= most_3)) then
              local place_9 = counts_8[1]
              local used_15 = counts_8[2]
              do return { place = place_9, used = used_15 } end
             else
              do return nil end
             end
            end
           end
          end,
         } end
        else
         do return allTransition(formula) end
        end
       end
      end
     end
    end
   end
  end
 end
end
takeSteps = function(formulas, steps_1, count, texts_1, now_1, write_1)
 local transitions = js_map(formulas, transitionBy)
 local states_5 = {  }
 local owners = {  }
 local lifetimes = {  }
 local take = function(at_6, instant_1)
  local key_1 = steps_1[at_6 + 1]
  local transition = transitions[steps_1[(at_6 + 1) + 1] + 1]
  local result_65
  local known = states_5[key_1 + 1]
  if (known ~= nil) then
   result_65 = known
  else
   if (lifetimes[key_1 + 1] ~= nil) then
    result_65 = transition.initial
   else
    local result_64
    local text_12 = texts_1[key_1 + 1]
    if (text_12 == false) then
     result_64 = nil
    else
     result_64 = transition.decode(text_12)
    end
    if (result_64 == nil) then
     result_65 = transition.initial
    else
     states_5[key_1 + 1] = result_64
     result_65 = result_64
    end
   end
  end
  local state_11 = result_65
  do
   local turn_1 = 0
   while (turn_1 < steps_1[(at_6 + 3) + 1]) do
    local next_4 = transition.take(state_11, instant_1, steps_1[(at_6 + 2) + 1])
    if (next_4 == state_11) then
     break
    end
    state_11 = next_4
    turn_1 = turn_1 + 1
   end
  end
  if (state_11 ~= result_65) then
   local choice_10
   if (lifetimes[key_1 + 1] == nil) then
    choice_10 = states_5[key_1 + 1]
   else
    choice_10 = nil
   end
   local result_66
   local end_2 = js_floor((transition.reset(state_11, 0) / LEEWAY))
   local choice_11
   if (choice_10 == nil) then
    choice_11 = -(1)
   else
    choice_11 = js_floor((transition.reset(choice_10, 0) / LEEWAY))
   end
   if (choice_11 == end_2) then
    result_66 = ''
   else
    result_66 = js_format('%d', (js_min((((end_2 + 1) * LEEWAY) - instant_1), LONGEST) + MARGIN))
   end
   lifetimes[key_1 + 1] = result_66
   states_5[key_1 + 1] = state_11
   owners[key_1 + 1] = transition
  end
 end
 local takeEach = function(at_7, end_3, instant_2)
  local taken_1 = {  }
  do
   local place_15 = at_7
   while (place_15 < end_3) do
    local transition_1 = transitions[steps_1[(place_15 + 1) + 1] + 1]
    local result_68
    local key_2 = steps_1[place_15 + 1]
    local known_1 = states_5[key_2 + 1]
    if (known_1 ~= nil) then
     result_68 = known_1
    else
     if (lifetimes[key_2 + 1] ~= nil) then
      result_68 = transition_1.initial
     else
      local result_67
      local text_13 = texts_1[key_2 + 1]
      if (text_13 == false) then
       result_67 = nil
      else
       result_67 = transition_1.decode(text_13)
      end
      if (result_67 == nil) then
       result_68 = transition_1.initial
      else
       states_5[key_2 + 1] = result_67
       result_68 = result_67
      end
     end
    end
    local next_5 = transition_1.take(result_68, instant_2, steps_1[(place_15 + 2) + 1])
    if ((next_5 == result_68) and (steps_1[(place_15 + 2) + 1] > 0)) then
     do return end
    else
     taken_1[#taken_1 + 1] = next_5
    end
    place_15 = place_15 + 4
   end
  end
  do
   local place_16 = at_7
   while (place_16 < end_3) do
    local transition_2 = transitions[steps_1[(place_16 + 1) + 1] + 1]
    local next_6 = taken_1[((place_16 - at_7) / 4) + 1]
    local result_70
    local key_3 = steps_1[place_16 + 1]
    local known_2 = states_5[key_3 + 1]
    if (known_2 ~= nil) then
     result_70 = known_2
    else
     if (lifetimes[key_3 + 1] ~= nil) then
      result_70 = transition_2.initial
     else
      local result_69
      local text_14 = texts_1[key_3 + 1]
      if (text_14 == false) then
       result_69 = nil
      else
       result_69 = transition_2.decode(text_14)
      end
      if (result_69 == nil) then
       result_70 = transition_2.initial
      else
       states_5[key_3 + 1] = result_69
       result_70 = result_69
      end
     end
    end
    local isChanged_1 = (next_6 ~= result_70)
    if (isChanged_1 and (steps_1[(place_16 + 3) + 1] == 0)) then
     local key_4 = steps_1[place_16 + 1]
     local choice_12
     if (lifetimes[key_4 + 1] == nil) then
      choice_12 = states_5[key_4 + 1]
     else
      choice_12 = nil
     end
     local result_71
     local end_4 = js_floor((transition_2.reset(next_6, 0) / LEEWAY))
     local choice_13
     if (choice_12 == nil) then
      choice_13 = -(1)
     else
      choice_13 = js_floor((transition_2.reset(choice_12, 0) / LEEWAY))
     end
     if (choice_13 == end_4) then
      result_71 = ''
     else
      result_71 = js_format('%d', (js_min((((end_4 + 1) * LEEWAY) - instant_2), LONGEST) + MARGIN))
     end
     lifetimes[key_4 + 1] = result_71
     states_5[key_4 + 1] = next_6
     owners[key_4 + 1] = transition_2
    end
    place_16 = place_16 + 4
   end
  end
 end
 local instant_3 = now_1
 local at_8 = 0
 while (at_8 < #steps_1) do
  local word = steps_1[at_8 + 1]
  if (word == TAKE) then
   take((at_8 + 1), instant_3)
   at_8 = at_8 + 5
  else
   if (word == TAKE_ALL) then
    local end_5 = ((at_8 + 2) + (steps_1[(at_8 + 1) + 1] * 4))
    takeEach((at_8 + 2), end_5, instant_3)
    at_8 = end_5
   else
    if (word == SET_INSTANT) then
     instant_3 = ((steps_1[(at_8 + 1) + 1] < 0) and now_1 or steps_1[(at_8 + 1) + 1])
     at_8 = at_8 + 2
    else
     local key_5 = steps_1[(at_8 + 1) + 1]
     states_5[key_5 + 1] = nil
     owners[key_5 + 1] = nil
     lifetimes[key_5 + 1] = ''
     at_8 = at_8 + 2
    end
   end
  end
 end
 do
  local key_6 = 0
  while (key_6 < count) do
   local lifetime = lifetimes[key_6 + 1]
   if (lifetime ~= nil) then
    local result_72
    local transition_3 = owners[key_6 + 1]
    local state_12 = states_5[key_6 + 1]
    if ((transition_3 == nil) or (state_12 == transition_3.initial)) then
     result_72 = nil
    else
     result_72 = transition_3.encode(state_12)
    end
    if (result_72 ~= texts_1[key_6 + 1]) then
     write_1(key_6, result_72, lifetime)
    end
   end
   key_6 = key_6 + 1
  end
 end
end
local steps = cjson.decode(ARGV[2])
takeSteps(table.remove(steps, 1), steps, count, texts, now, write)
return reply
`.trim();

/** Its name on a server that has seen it: the SHA-1 of its text. */
export const STATE_TRANSITIONS_SHA = "aa66c40e41908e88a224c08311b9545151b87a2f";
