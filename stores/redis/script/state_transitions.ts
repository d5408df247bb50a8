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
for place = 1, count do
  local text = texts[place]
  while text and js_byte(text, -1) == 33 do
    local from = js_find(text, ' %d+%.%w+!$')
    if not from then break end
    text = from > 1 and js_sub(text, 1, from - 1)
    texts[place] = text
  end
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
local LAST_INSTANT = 2 ^ 42
local FURTHEST = 2 ^ 52
local MAX_USE = 1000000000
local ZERO = 32
local DIGITS = 90
local LEEWAY = 3000
local LONGEST = 2 ^ 42
local MARGIN = 5000
local takeTicks
takeTicks = function(argument, cost, times, texts, now, write)
 local perMillisecond, interval, burst = argument[2], argument[4], argument[5]
 local last = js_ceil(LAST_INSTANT) * perMillisecond
 local furthest = js_min((((2 ^ 53) - 1) - last), (js_floor(FURTHEST) * perMillisecond))
 local exact = furthest / interval
 local mostUse = js_max(burst, js_min(MAX_USE, js_floor(exact)))
 local tolerance_1 = burst * interval
 for key = 0, (#times / 2) - 1 do
  local high = js_charCodeAt(times, (key * 2)) - ZERO
  local times_1 = ((high * DIGITS) + js_charCodeAt(times, ((key * 2) + 1))) - ZERO
  if times_1 > 0 then
   local text = texts[key + 1]
   local result_1
   if text == false then
    result_1 = nil
   else
    local result
    local counts = js_countsAfter('t1', text)
    if counts == nil then
     result = nil
    elseif #counts == 1 then
     result = { counts[1], 0 }
    elseif (#counts == 2) and (counts[2] ~= 0) then
     result = { counts[1], counts[2] }
    else
     result = nil
    end
    if result == nil then
     result_1 = nil
    else
     local millisecond, ticks = result[1], result[2]
     if (js_fmod(millisecond, 1) ~= 0) or not ((ticks < perMillisecond)) then
      result_1 = nil
     else
      local at = (millisecond * perMillisecond) + ticks
      result_1 = (js_isSafeInteger(at) and (at >= 0)) and at or nil
     end
    end
   end
   local first = (result_1 == nil) and 0 or result_1
   local result_2
   local cost_1 = cost * times_1
   local tick = now * perMillisecond
   if (cost_1 > burst) or (cost_1 == 0) then
    result_2 = first
   elseif cost_1 < 0 then
    local units = -(cost_1)
    local earlier = first - (((units < mostUse) and units or mostUse) * interval)
    result_2 = (earlier > tick) and earlier or 0
   else
    local next = ((first > tick) and first or tick) + (cost_1 * interval)
    result_2 = ((next - tick) <= tolerance_1) and next or first
   end
   local state = result_2
   local turn = (state == first) and 0 or times_1
   while (turn < times_1) do
    local result_3
    local tick_1 = now * perMillisecond
    if (cost > burst) or (cost == 0) then
     result_3 = state
    elseif cost < 0 then
     local units_1 = -(cost)
     local earlier_1 = state - (((units_1 < mostUse) and units_1 or mostUse) * interval)
     result_3 = (earlier_1 > tick_1) and earlier_1 or 0
    else
     local next_1 = ((state > tick_1) and state or tick_1) + (cost * interval)
     result_3 = ((next_1 - tick_1) <= tolerance_1) and next_1 or state
    end
    if result_3 == state then break end
    state = result_3
    turn = turn + 1
   end
   if state ~= first then
    local choice
    if state == 0 then
     choice = nil
    else
     local steps = js_floor((state / perMillisecond))
     local ticks_1 = state - (steps * perMillisecond)
     if ticks_1 == 0 then
      choice = js_format('t1 %d', steps)
     else
      choice = js_format('t1 %d %d', steps, ticks_1)
     end
    end
    if choice ~= text then
     local result_4
     local wait = js_ceil((state / perMillisecond))
     local end_ = js_floor((((wait > 0) and wait or 0) / LEEWAY))
     local choice_1
     if result_1 == nil then
      choice_1 = -(1)
     else
      local wait_3 = js_ceil((result_1 / perMillisecond))
      choice_1 = js_floor((((wait_3 > 0) and wait_3 or 0) / LEEWAY))
     end
     if choice_1 == end_ then
      result_4 = ''
     else
      result_4 = js_format('%d', (js_min((((end_ + 1) * LEEWAY) - now), LONGEST) + MARGIN))
     end
     write(key, choice, result_4)
    end
   end
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
local decode = function(text_2)
 local counts_1 = js_countsAfter('t1', text_2)
 if counts_1 == nil then return nil end
 if #counts_1 == 1 then return { counts_1[1], 0 } end
 if (#counts_1 == 2) and (counts_1[2] ~= 0) then return { counts_1[1], counts_1[2] } end
 return nil
end
local countsAt = function(state_4, now_8, period)
 local window = js_floor((now_8 / period))
 if window <= state_4.window then return state_4 end
 local previous = (window == (state_4.window + 1)) and state_4.current or 0
 return { window = window, previous = previous, current = 0 }
end
encodeAll = function(codecs, states_3)
 local text_6 = 'a1'
 for index_6 = 0, #codecs - 1 do
  local own = codecs[index_6 + 1].encode(states_3[index_6 + 1])
  text_6 = js_text(text_6) .. ' ' .. js_text(#own) .. ':' .. js_text(own)
 end
 return text_6
end
decodeAll = function(codecs_1, initial_3, text_8)
 if js_slice(text_8, 0, 2) ~= 'a1' then return nil end
 local states_4 = {  }
 local isFresh_1 = true
 local start = 2
 for index_7 = 0, #codecs_1 - 1 do
  local colon = js_indexOf(text_8, ':', start)
  if (colon < 0) or (js_slice(text_8, start, (start + 1)) ~= ' ') then return nil end
  local end_1 = (colon + 1) + js_countOf(js_slice(text_8, (start + 1), colon))
  if not ((end_1 <= #text_8)) then return nil end
  local state_8 = codecs_1[index_7 + 1].decode(js_slice(text_8, (colon + 1), end_1))
  if state_8 == nil then return nil end
  if state_8 ~= initial_3[index_7 + 1] then isFresh_1 = false end
  states_4[#states_4 + 1] = state_8
  start = end_1
 end
 if start ~= #text_8 then return nil end
 return isFresh_1 and initial_3 or states_4
end
allTransition = function(formula_2, charges_1)
 local parts = {  }
 for index_3 = 1, #formula_2 - 1 do
  parts[#parts + 1] = transitionBy(formula_2[index_3 + 1], charges_1)
 end
 local initial_2 = js_map(parts, function(part) return part.initial end)
 local takes = js_map(parts, function(part_1) return part_1.take end)
 return {
  initial = initial_2,
  take = function(states, now_14, cost_6)
   if cost_6 == 0 then return states end
   local next_2 = {  }
   local isChanged = false
   local isFresh = true
   for index_4 = 0, #takes - 1 do
    local state_7 = states[index_4 + 1]
    local taken = takes[index_4 + 1](state_7, now_14, cost_6)
    if taken ~= state_7 then
     isChanged = true
    elseif (cost_6 > 0) and not (charges_1) then
     return states
    end
    if taken ~= initial_2[index_4 + 1] then isFresh = false end
    next_2[#next_2 + 1] = taken
   end
   if not (isChanged) then return states end
   return isFresh and initial_2 or next_2
  end,
  reset = function(states_1, now_15)
   local longest = 0
   for index_5 = 0, #parts - 1 do
    longest = js_max(longest, parts[index_5 + 1].reset(states_1[index_5 + 1], now_15))
   end
   return longest
  end,
  encode = function(states_2) return encodeAll(parts, states_2) end,
  decode = function(text_7) return decodeAll(parts, initial_2, text_7) end,
 }
end
transitionBy = function(formula_1, charges)
 local name, a = formula_1[1], formula_1[2]
 local b, c, d = formula_1[3], formula_1[4], formula_1[5]
 if (name == 'ticks') or (name == 'steps') then
  local last_1 = js_ceil((LAST_INSTANT / b)) * a
  local furthest_1 = js_min((((2 ^ 53) - 1) - last_1), (js_floor((FURTHEST / b)) * a))
  local exact_1 = furthest_1 / c
  local mostUse_1 = js_max(d, js_min(MAX_USE, js_floor(exact_1)))
  local tolerance_2 = d * c
  local maxDebt_1 = mostUse_1 - d
  return {
   initial = 0,
   take = function(state_1, now_2, cost_2)
    if charges and (cost_2 > 0) then
     local ticks_2 = state_1 - (js_floor((now_2 / b)) * a)
     local units_2 = js_min(cost_2, (maxDebt_1 + js_floor(((tolerance_2 - ((ticks_2 > 0) and ticks_2 or 0)) / c))))
     if units_2 <= 0 then return state_1 end
     local ticks_3 = units_2 * c
     local instant = js_floor((now_2 / b)) * a
     return ((state_1 > instant) and state_1 or instant) + ticks_3
    end
    if cost_2 > 0 then
     local ticks_5 = state_1 - (js_floor((now_2 / b)) * a)
     if cost_2 <= js_floor(((tolerance_2 - ((ticks_5 > 0) and ticks_5 or 0)) / c)) then
      local ticks_6 = cost_2 * c
      local instant_1 = js_floor((now_2 / b)) * a
      return ((state_1 > instant_1) and state_1 or instant_1) + ticks_6
     end
     return state_1
    end
    if cost_2 < 0 then
     local units_3 = -(cost_2)
     local decrement = ((units_3 < mostUse_1) and units_3 or mostUse_1) * c
     local ticks_8 = state_1 - (js_floor((now_2 / b)) * a)
     if decrement < ((ticks_8 > 0) and ticks_8 or 0) then return state_1 - decrement end
     return 0
    end
    return state_1
   end,
   reset = function(tat, now_3)
    local wait_4 = (js_ceil((tat / a)) * b) - now_3
    return (wait_4 > 0) and wait_4 or 0
   end,
   encode = function(at_1)
    local steps_2 = js_floor((at_1 / a))
    local millisecond_1 = steps_2 * b
    local ticks_9 = at_1 - (steps_2 * a)
    if ticks_9 == 0 then return js_format('t1 %d', millisecond_1) end
    return js_format('t1 %d %d', millisecond_1, ticks_9)
   end,
   decode = function(text_1)
    local instant_2 = decode(text_1)
    if instant_2 == nil then return nil end
    local millisecond_2, ticks_10 = instant_2[1], instant_2[2]
    if (js_fmod(millisecond_2, b) ~= 0) or not ((ticks_10 < a)) then return nil end
    local at_2 = ((millisecond_2 / b) * a) + ticks_10
    return (js_isSafeInteger(at_2) and (at_2 >= 0)) and at_2 or nil
   end,
  }
 end
 if name == 'fine' then
  local initial = { millisecond = 0, ticks = 0 }
  local furthest_2 = js_min(((2 ^ 53) - 1), (FURTHEST * a))
  local exact_2 = furthest_2 / b
  local mostUse_2 = js_max(c, js_min(MAX_USE, js_floor(exact_2)))
  local tolerance_3 = c * b
  local maxDebt_2 = mostUse_2 - c
  local later = function(at_3, now_5, ticks_12)
   local whole = js_floor((ticks_12 / a))
   local rest = ticks_12 - (whole * a)
   local choice_2
   if at_3.millisecond >= now_5 then
    choice_2 = { at_3.millisecond, at_3.ticks }
   else
    choice_2 = { now_5, 0 }
   end
   local millisecond_3, beyond = choice_2[1], choice_2[2]
   if beyond >= a - rest then
    local millisecond_4 = (millisecond_3 + whole) + 1
    local ticks_13 = beyond - (a - rest)
    return { millisecond = millisecond_4, ticks = ticks_13 }
   end
   local millisecond_5 = millisecond_3 + whole
   local ticks_14 = beyond + rest
   return { millisecond = millisecond_5, ticks = ticks_14 }
  end
  return {
   initial = initial,
   take = function(state_2, now_4, cost_3)
    if charges and (cost_3 > 0) then
     local ticks_11 = ((state_2.millisecond - now_4) * a) + state_2.ticks
     local units_4 = js_min(cost_3, (maxDebt_2 + js_floor(((tolerance_3 - ((ticks_11 > 0) and ticks_11 or 0)) / b))))
     if units_4 <= 0 then return state_2 end
     return later(state_2, now_4, (units_4 * b))
    end
    if cost_3 > 0 then
     local ticks_16 = ((state_2.millisecond - now_4) * a) + state_2.ticks
     if cost_3 <= js_floor(((tolerance_3 - ((ticks_16 > 0) and ticks_16 or 0)) / b)) then
      return later(state_2, now_4, (cost_3 * b))
     end
     return state_2
    end
    if cost_3 < 0 then
     local units_5 = -(cost_3)
     local decrement_1 = ((units_5 < mostUse_2) and units_5 or mostUse_2) * b
     local ticks_18 = ((state_2.millisecond - now_4) * a) + state_2.ticks
     if decrement_1 < ((ticks_18 > 0) and ticks_18 or 0) then
      local whole_1 = js_floor((decrement_1 / a))
      local rest_1 = decrement_1 - (whole_1 * a)
      if state_2.ticks >= rest_1 then
       local millisecond_6 = state_2.millisecond - whole_1
       local ticks_19 = state_2.ticks - rest_1
       return { millisecond = millisecond_6, ticks = ticks_19 }
      end
      local millisecond_7 = (state_2.millisecond - whole_1) - 1
      local ticks_20 = state_2.ticks + (a - rest_1)
      return { millisecond = millisecond_7, ticks = ticks_20 }
     end
     return initial
    end
    return state_2
   end,
   reset = function(tat_1, now_6)
    local wait_5 = (tat_1.millisecond + js_ceil((tat_1.ticks / a))) - now_6
    return (wait_5 > 0) and wait_5 or 0
   end,
   encode = function(at_4)
    if at_4.ticks == 0 then return 't1 ' .. js_text(at_4.millisecond) end
    return 't1 ' .. js_text(at_4.millisecond) .. ' ' .. js_text(at_4.ticks)
   end,
   decode = function(text_3)
    local held = decode(text_3)
    if held == nil then return nil end
    local millisecond_8, ticks_21 = held[1], held[2]
    if (not ((js_isSafeInteger(millisecond_8) and (millisecond_8 >= 0))) or not ((js_isSafeInteger(ticks_21) and (ticks_21 >= 0)))) or (ticks_21 >= a) then
     return nil
    end
    return ((millisecond_8 == 0) and (ticks_21 == 0)) and initial or { millisecond = millisecond_8, ticks = ticks_21 }
   end,
  }
 end
 if name == 'counter' then
  local exact_3 = ((2 ^ 53) - 1) / b
  local mostUse_3 = js_max(a, js_min(MAX_USE, js_floor(exact_3)))
  local maxDebt_3 = mostUse_3 - a
  return {
   initial = FRESH,
   take = function(state_3, now_7, cost_4)
    if charges and (cost_4 > 0) then
     local counts_2 = countsAt(state_3, now_7, b)
     local elapsed = now_7 - (counts_2.window * b)
     local units_6 = js_min(cost_4, (maxDebt_3 + ((a - js_ceil(((counts_2.previous * ((elapsed > 0) and (b - elapsed) or b)) / b))) - counts_2.current)))
     if units_6 <= 0 then return state_3 end
     local whole_2 = countsAt(state_3, now_7, b)
     local current = whole_2.current + units_6
     return { window = whole_2.window, previous = whole_2.previous, current = current }
    end
    if cost_4 > 0 then
     local counts_4 = countsAt(state_3, now_7, b)
     local elapsed_2 = now_7 - (counts_4.window * b)
     if cost_4 <= (a - js_ceil(((counts_4.previous * ((elapsed_2 > 0) and (b - elapsed_2) or b)) / b))) - counts_4.current then
      local whole_3 = countsAt(state_3, now_7, b)
      local current_1 = whole_3.current + cost_4
      return { window = whole_3.window, previous = whole_3.previous, current = current_1 }
     end
     return state_3
    end
    if cost_4 < 0 then
     local units_7 = -(cost_4)
     local age = js_floor((now_7 / b)) - state_3.window
     if age > 1 then return FRESH end
     if units_7 < state_3.current then
      local current_2 = state_3.current - units_7
      return { window = state_3.window, previous = state_3.previous, current = current_2 }
     end
     local older = (age == 1) and 0 or (state_3.previous - (units_7 - state_3.current))
     if older > 0 then
      local window_1 = state_3.window - 1
      return { window = window_1, previous = 0, current = older }
     end
     return FRESH
    end
    return state_3
   end,
   reset = function(state_5, now_9)
    local result_5
    if 0 >= state_5.current then
     local room = 0 - state_5.current
     if state_5.previous <= room then
      result_5 = state_5.window * b
     else
      result_5 = ((state_5.window + 1) * b) - js_floor(((room * b) / state_5.previous))
     end
    else
     local window_2 = state_5.window + 1
     if state_5.current <= 0 then
      result_5 = window_2 * b
     else
      result_5 = ((window_2 + 1) * b) - js_floor(((0 * b) / state_5.current))
     end
    end
    return js_max(0, (result_5 - now_9))
   end,
   encode = function(argument_1)
    return 'c1 ' .. js_text(argument_1.window) .. ' ' .. js_text(argument_1.previous) .. ' ' .. js_text(argument_1.current)
   end,
   decode = function(text_4)
    local counts_5 = js_countsAfter('c1', text_4)
    if (counts_5 == nil) or (#counts_5 ~= 3) then return nil end
    local window_3, previous_1, current_3 = counts_5[1], counts_5[2], counts_5[3]
    if (not ((js_isSafeInteger(window_3) and (window_3 >= 0))) or not ((js_isSafeInteger(previous_1) and (previous_1 >= 0)))) or not ((js_isSafeInteger(current_3) and (current_3 >= 0))) then
     return nil
    end
    if (previous_1 > mostUse_3) or (current_3 > mostUse_3) then return nil end
    if current_3 == 0 then return ((window_3 == 0) and (previous_1 == 0)) and FRESH or nil end
    return { window = window_3, previous = previous_1, current = current_3 }
   end,
  }
 end
 if name == 'window' then
  local offset = js_fmod((b - c), b)
  local last_2 = js_floor(((LAST_INSTANT + offset) / b))
  local isOpened = c < 0
  local last_3 = isOpened and LAST_INSTANT or last_2
  local place = -(math.huge)
  local initial_1 = { place = place, used = 0 }
  local maxDebt_4 = d - a
  local usedNow = function(use, now_11)
   local result_7
   if isOpened then
    result_7 = (now_11 < (use.place + b)) and use.place or now_11
   else
    local index_1 = js_floor(((now_11 + offset) / b))
    result_7 = (index_1 > use.place) and index_1 or use.place
   end
   if result_7 == use.place then return use.used end
   return 0
  end
  local add = function(use_1, now_12, units_9)
   local result_8
   if isOpened then
    result_8 = (now_12 < (use_1.place + b)) and use_1.place or now_12
   else
    local index_2 = js_floor(((now_12 + offset) / b))
    result_8 = (index_2 > use_1.place) and index_2 or use_1.place
   end
   local choice_3
   if result_8 == use_1.place then choice_3 = use_1.used else choice_3 = 0 end
   local used = choice_3 + units_9
   return { place = result_8, used = used }
  end
  return {
   initial = initial_1,
   take = function(state_6, now_10, cost_5)
    if charges and (cost_5 > 0) then
     local units_8 = js_min(cost_5, (maxDebt_4 + (a - usedNow(state_6, now_10))))
     if units_8 <= 0 then return state_6 end
     return add(state_6, now_10, units_8)
    end
    if cost_5 > 0 then
     if cost_5 <= (a - usedNow(state_6, now_10)) then return add(state_6, now_10, cost_5) end
     return state_6
    end
    if cost_5 < 0 then
     local units_10 = -(cost_5)
     local count_1 = usedNow(state_6, now_10)
     if units_10 < count_1 then
      local used_1 = count_1 - units_10
      return { place = state_6.place, used = used_1 }
     end
     return initial_1
    end
    return state_6
   end,
   reset = function(use_2, now_13)
    if usedNow(use_2, now_13) == 0 then return 0 end
    local result_10
    if isOpened then
     result_10 = use_2.place + b
    else
     result_10 = ((use_2.place + 1) * b) - offset
    end
    return result_10 - now_13
   end,
   encode = function(use_3)
    return (use_3.used == 0) and 'f1' or 'f1 ' .. js_text(use_3.place) .. ' ' .. js_text(use_3.used)
   end,
   decode = function(text_5)
    if text_5 == 'f1' then return initial_1 end
    local counts_6 = js_countsAfter('f1', text_5)
    if (counts_6 == nil) or (#counts_6 ~= 2) then return nil end
    local place_2, used_3 = counts_6[1], counts_6[2]
    if ((((js_isSafeInteger(place_2) and (place_2 >= 0)) and (place_2 <= last_3)) and (js_isSafeInteger(used_3) and (used_3 >= 0))) and (used_3 >= 1)) and (used_3 <= d) then
     local place_3, used_4 = counts_6[1], counts_6[2]
     return { place = place_3, used = used_4 }
    end
    return nil
   end,
  }
 end
 if name == 'charge' then return transitionBy(formula_1[2], true) end
 return allTransition(formula_1, charges)
end
local lifetimeOf = function(transition_2, before_1, state_10, instant_4)
 local end_2 = js_floor((transition_2.reset(state_10, 0) / LEEWAY))
 local was = (before_1 == nil) and -(1) or js_floor((transition_2.reset(before_1, 0) / LEEWAY))
 if was == end_2 then return '' end
 return js_format('%d', (js_min((((end_2 + 1) * LEEWAY) - instant_4), LONGEST) + MARGIN))
end
takeSteps = function(formulas, steps_1, count, texts_1, now_1, write_1)
 local transitions = js_map(formulas, function(formula) return transitionBy(formula, false) end)
 local states_5 = {  }
 local owners = {  }
 local lifetimes = {  }
 local current_4 = function(key_2, transition_1)
  local known = states_5[key_2 + 1]
  if known ~= nil then return known end
  if lifetimes[key_2 + 1] ~= nil then return transition_1.initial end
  local result_11
  local text_9 = texts_1[key_2 + 1]
  if text_9 == false then result_11 = nil else result_11 = transition_1.decode(text_9) end
  if result_11 == nil then return transition_1.initial end
  states_5[key_2 + 1] = result_11
  return result_11
 end
 local take = function(at_5, instant_3)
  local key_1 = steps_1[at_5 + 1]
  local transition = transitions[steps_1[(at_5 + 1) + 1] + 1]
  local held_1 = current_4(key_1, transition)
  local state_9 = held_1
  for turn_1 = 0, steps_1[(at_5 + 3) + 1] - 1 do
   local next_3 = transition.take(state_9, instant_3, steps_1[(at_5 + 2) + 1])
   if next_3 == state_9 then break end
   state_9 = next_3
  end
  if state_9 ~= held_1 then
   local before = (lifetimes[key_1 + 1] == nil) and states_5[key_1 + 1] or nil
   lifetimes[key_1 + 1] = lifetimeOf(transition, before, state_9, instant_3)
   states_5[key_1 + 1] = state_9
   owners[key_1 + 1] = transition
  end
 end
 local takeEach = function(at_6, end_3, instant_5)
  local taken_1 = {  }
  for index_8 = at_6, end_3 - 1, 4 do
   local transition_3 = transitions[steps_1[(index_8 + 1) + 1] + 1]
   local held_2 = current_4(steps_1[index_8 + 1], transition_3)
   local next_4 = transition_3.take(held_2, instant_5, steps_1[(index_8 + 2) + 1])
   if (next_4 == held_2) and (steps_1[(index_8 + 2) + 1] > 0) then return end
   taken_1[#taken_1 + 1] = next_4
  end
  for index_9 = at_6, end_3 - 1, 4 do
   local transition_4 = transitions[steps_1[(index_9 + 1) + 1] + 1]
   local next_5 = taken_1[((index_9 - at_6) / 4) + 1]
   local isChanged_1 = next_5 ~= current_4(steps_1[index_9 + 1], transition_4)
   if isChanged_1 and (steps_1[(index_9 + 3) + 1] == 0) then
    local key_3 = steps_1[index_9 + 1]
    local before_2 = (lifetimes[key_3 + 1] == nil) and states_5[key_3 + 1] or nil
    lifetimes[key_3 + 1] = lifetimeOf(transition_4, before_2, next_5, instant_5)
    states_5[key_3 + 1] = next_5
    owners[key_3 + 1] = transition_4
   end
  end
 end
 local instant_6 = now_1
 local at_7 = 0
 while (at_7 < #steps_1) do
  local word = steps_1[at_7 + 1]
  if word == TAKE then
   take((at_7 + 1), instant_6)
   at_7 = at_7 + 5
  elseif word == TAKE_ALL then
   local end_4 = (at_7 + 2) + (steps_1[(at_7 + 1) + 1] * 4)
   takeEach((at_7 + 2), end_4, instant_6)
   at_7 = end_4
  elseif word == SET_INSTANT then
   instant_6 = (steps_1[(at_7 + 1) + 1] < 0) and now_1 or steps_1[(at_7 + 1) + 1]
   at_7 = at_7 + 2
  else
   local key_4 = steps_1[(at_7 + 1) + 1]
   states_5[key_4 + 1] = nil
   owners[key_4 + 1] = nil
   lifetimes[key_4 + 1] = ''
   at_7 = at_7 + 2
  end
 end
 for key_5 = 0, count - 1 do
  local lifetime = lifetimes[key_5 + 1]
  if lifetime ~= nil then
   local result_12
   local transition_5 = owners[key_5 + 1]
   local state_11 = states_5[key_5 + 1]
   if (transition_5 == nil) or (state_11 == transition_5.initial) then
    result_12 = nil
   else
    result_12 = transition_5.encode(state_11)
   end
   if result_12 ~= texts_1[key_5 + 1] then write_1(key_5, result_12, lifetime) end
  end
 end
end
local steps = cjson.decode(ARGV[2])
takeSteps(table.remove(steps, 1), steps, count, texts, now, write)
return reply
`.trim();

/** Its name on a server that has seen it: the SHA-1 of its text. */
export const STATE_TRANSITIONS_SHA = "cd5b8c2662fc7065c29f3aff56d655f0ff19484f";
