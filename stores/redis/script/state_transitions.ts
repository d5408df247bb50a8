// Written by "npm run lua" from run_steps.ts and what it uses: change those.
// deno-fmt-ignore-file

/** The script. */
export const STATE_TRANSITIONS: string = `
local js_ceil, js_floor, js_max, js_min, js_fmod
  = math.ceil, math.floor, math.max, math.min, math.fmod
local js_find, js_format, js_sub = string.find, string.format, string.sub
local function js_text(value)
  return type(value) == 'number' and js_format('%d', value) or value
end
local function js_isSafeInteger(value)
  return value == js_floor(value) and value < 2 ^ 53 and value > -2 ^ 53
end
local function js_countOf(word)
  if word == '0' or #word <= 16 and js_find(word, '^[1-9]%d*$') then return tonumber(word) end
  return 0 / 0
end
local function js_countsAfter(head, words)
  local counts, at = {}, #head
  if js_sub(words, 1, at) ~= head then return nil end
  while at < #words do
    local _, to, word = js_find(words, '^ (%d+)', at + 1)
    local count = to and js_countOf(word)
    if not count or not (count < 2 ^ 53) then return nil end
    counts[#counts + 1] = count
    at = to
  end
  return counts
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
local LAST_INSTANT = (2 ^ 42)
local FURTHEST = (2 ^ 52)
local MOST_USE = 1000000000
local FRESH = { window = 0, previous = 0, current = 0 }
local TAKE = 0
local TAKE_ALL = 3
local SET_INSTANT = 2
local LONGEST = (2 ^ 42)
local MARGIN = 5000
local LEEWAY = 3000
local runSteps, transitionBy, allTransition, encodeAll, decodeAll
encodeAll = function(codecs, states_3)
local text_8 = 'a1'
do
 local place_13 = 0
 while (place_13 < #codecs) do
  local own = codecs[place_13 + 1].encode(states_3[place_13 + 1])
  text_8 = js_text(text_8) .. ' ' .. js_text(#own) .. ':' .. js_text(own)
  place_13 = place_13 + 1
 end
end
do return text_8 end
end
decodeAll = function(codecs_1, initial_4, text_10)
if (js_slice(text_10, 0, 2) ~= 'a1') then
 do return nil end
else
 local states_4 = {  }
 local isFresh_1 = true
 local start = 2
 do
  local place_14 = 0
  while (place_14 < #codecs_1) do
   local colon = js_indexOf(text_10, ':', start)
   if ((colon < 0) or (js_slice(text_10, start, (start + 1)) ~= ' ')) then
    do return nil end
   else
    local end_ = ((colon + 1) + js_countOf(js_slice(text_10, (start + 1), colon)))
    if not ((end_ <= #text_10)) then
     do return nil end
    else
     local state_9 = codecs_1[place_14 + 1].decode(js_slice(text_10, (colon + 1), end_))
     if (state_9 == nil) then
      do return nil end
     else
      if (state_9 ~= initial_4[place_14 + 1]) then
       isFresh_1 = false
      end
      states_4[#states_4 + 1] = state_9
      start = end_
     end
    end
   end
   place_14 = place_14 + 1
  end
 end
 if (start ~= #text_10) then
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
 take = function(states, now_17, cost_8)
  if (cost_8 == 0) then
   do return states end
  else
   local next_1 = {  }
   local isChanged = false
   local isFresh = true
   do
    local place_11 = 0
    while (place_11 < #takes) do
     local state_8 = states[place_11 + 1]
     local taken = takes[place_11 + 1](state_8, now_17, cost_8)
     if (taken ~= state_8) then
      isChanged = true
     else
      if ((cost_8 > 0) and true) then
       do return states end
      end
     end
     if (taken ~= initial_3[place_11 + 1]) then
      isFresh = false
     end
     next_1[#next_1 + 1] = taken
     place_11 = place_11 + 1
    end
   end
   if not (isChanged) then
    do return states end
   else
    if isFresh then
     do return initial_3 end
    else
     do return next_1 end
    end
   end
  end
 end,
 reset = function(states_1, now_18)
  local longest = 0
  do
   local place_12 = 0
   while (place_12 < #parts) do
    longest = js_max(longest, parts[place_12 + 1].reset(states_1[place_12 + 1], now_18))
    place_12 = place_12 + 1
   end
  end
  do return longest end
 end,
 encode = function(states_2)
  do return encodeAll(parts, states_2) end
 end,
 decode = function(text_9)
  do return decodeAll(parts, initial_3, text_9) end
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
 local last = (js_ceil((LAST_INSTANT / 1)) * a)
 local furthest = js_min((((2 ^ 53) - 1) - last), (js_floor((FURTHEST / 1)) * a))
 local exact = (furthest / c)
 local mostUse = js_max(d, js_min(MOST_USE, js_floor(exact)))
 local tolerance = (d * c)
 local tolerance_1 = (d * c)
 local maxDebt = (mostUse - d)
 do return {
  initial = 0,
  take = function(tat, now_1, cost)
   local tick = (now_1 * a)
   if ((cost > d) or (cost == 0)) then
    do return tat end
   else
    if (cost < 0) then
     local units = -(cost)
     local earlier = (tat - (((units < mostUse) and units or mostUse) * c))
     if (earlier > tick) then
      do return earlier end
     else
      do return 0 end
     end
    else
     local next = (((tat > tick) and tat or tick) + (cost * c))
     if ((next - tick) <= tolerance_1) then
      do return next end
     else
      do return tat end
     end
    end
   end
  end,
  reset = function(tat_1, now_2)
   local wait = ((js_ceil(((tat_1 - 0) / a)) * 1) - now_2)
   if (wait > 0) then
    do return wait end
   else
    do return 0 end
   end
  end,
  encode = function(at)
   local steps_1 = js_floor((at / a))
   local millisecond = (steps_1 * 1)
   local ticks = (at - (steps_1 * a))
   if (ticks == 0) then
    do return 't1 ' .. js_text(millisecond) end
   else
    do return 't1 ' .. js_text(millisecond) .. ' ' .. js_text(ticks) end
   end
  end,
  decode = function(text)
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
    do return nil end
   else
    local millisecond_1 = result[1]
    local ticks_1 = result[2]
    if ((js_fmod(millisecond_1, 1) ~= 0) or not ((ticks_1 < a))) then
     do return nil end
    else
     local at_1 = (((millisecond_1 / 1) * a) + ticks_1)
     if (js_isSafeInteger(at_1) and (at_1 >= 0)) then
      do return at_1 end
     else
      do return nil end
     end
    end
   end
  end,
 } end
else
 if (name == 'steps') then
  local last_1 = (js_ceil((LAST_INSTANT / b)) * a)
  local furthest_1 = js_min((((2 ^ 53) - 1) - last_1), (js_floor((FURTHEST / b)) * a))
  local exact_1 = (furthest_1 / c)
  local mostUse_1 = js_max(d, js_min(MOST_USE, js_floor(exact_1)))
  local tolerance_2 = (d * c)
  do return {
   initial = 0,
   take = function(state, now_3, cost_1)
    if (cost_1 > 0) then
     local result_1
     local ticks_2 = (state - (js_floor((now_3 / b)) * a))
     if (ticks_2 > 0) then
      result_1 = ticks_2
     else
      result_1 = 0
     end
     if (cost_1 <= js_floor(((tolerance_2 - result_1) / c))) then
      local ticks_3 = (cost_1 * c)
      local instant = (js_floor((now_3 / b)) * a)
      do return (((state > instant) and state or instant) + ticks_3) end
     else
      do return state end
     end
    else
     if (cost_1 < 0) then
      local units_1 = -(cost_1)
      local decrement = (((units_1 < mostUse_1) and units_1 or mostUse_1) * c)
      local result_2
      local ticks_4 = (state - (js_floor((now_3 / b)) * a))
      if (ticks_4 > 0) then
       result_2 = ticks_4
      else
       result_2 = 0
      end
      if (decrement < result_2) then
       do return (state - decrement) end
      else
       do return 0 end
      end
     else
      do return state end
     end
    end
   end,
   reset = function(tat_2, now_4)
    local wait_1 = ((js_ceil(((tat_2 - 0) / a)) * b) - now_4)
    if (wait_1 > 0) then
     do return wait_1 end
    else
     do return 0 end
    end
   end,
   encode = function(at_2)
    local steps_2 = js_floor((at_2 / a))
    local millisecond_2 = (steps_2 * b)
    local ticks_5 = (at_2 - (steps_2 * a))
    if (ticks_5 == 0) then
     do return 't1 ' .. js_text(millisecond_2) end
    else
     do return 't1 ' .. js_text(millisecond_2) .. ' ' .. js_text(ticks_5) end
    end
   end,
   decode = function(text_1)
    local result_3
    local counts_1 = js_countsAfter('t1', text_1)
    if (counts_1 == nil) then
     result_3 = nil
    else
     if (#counts_1 == 1) then
      result_3 = { counts_1[1], 0 }
     else
      if ((#counts_1 == 2) and (counts_1[2] ~= 0)) then
       result_3 = { counts_1[1], counts_1[2] }
      else
       result_3 = nil
      end
     end
    end
    if (result_3 == nil) then
     do return nil end
    else
     local millisecond_3 = result_3[1]
     local ticks_6 = result_3[2]
     if ((js_fmod(millisecond_3, b) ~= 0) or not ((ticks_6 < a))) then
      do return nil end
     else
      local at_3 = (((millisecond_3 / b) * a) + ticks_6)
      if (js_isSafeInteger(at_3) and (at_3 >= 0)) then
       do return at_3 end
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
   local furthest_2 = js_min(((2 ^ 53) - 1), (FURTHEST * a))
   local exact_2 = (furthest_2 / b)
   local mostUse_2 = js_max(c, js_min(MOST_USE, js_floor(exact_2)))
   local tolerance_3 = (c * b)
   do return {
    initial = initial,
    take = function(state_1, now_5, cost_2)
     if (cost_2 > 0) then
      local result_4
      local ticks_7 = (((state_1.millisecond - now_5) * a) + state_1.ticks)
      if (ticks_7 > 0) then
       result_4 = ticks_7
      else
       result_4 = 0
      end
      if (cost_2 <= js_floor(((tolerance_3 - result_4) / b))) then
       local ticks_8 = (cost_2 * b)
       local whole = js_floor((ticks_8 / a))
       local rest = (ticks_8 - (whole * a))
       local choice
       if (state_1.millisecond >= now_5) then
        choice = { state_1.millisecond, state_1.ticks }
       else
        choice = { now_5, 0 }
       end
       local millisecond_4 = choice[1]
       local beyond = choice[2]
       if (beyond >= (a - rest)) then
        local millisecond_5 = ((millisecond_4 + whole) + 1)
        local ticks_9 = (beyond - (a - rest))
        do return { millisecond = millisecond_5, ticks = ticks_9 } end
       else
        local millisecond_6 = (millisecond_4 + whole)
        local ticks_10 = (beyond + rest)
        do return { millisecond = millisecond_6, ticks = ticks_10 } end
       end
      else
       do return state_1 end
      end
     else
      if (cost_2 < 0) then
       local units_2 = -(cost_2)
       local decrement_1 = (((units_2 < mostUse_2) and units_2 or mostUse_2) * b)
       local result_5
       local ticks_11 = (((state_1.millisecond - now_5) * a) + state_1.ticks)
       if (ticks_11 > 0) then
        result_5 = ticks_11
       else
        result_5 = 0
       end
       if (decrement_1 < result_5) then
        local whole_1 = js_floor((decrement_1 / a))
        local rest_1 = (decrement_1 - (whole_1 * a))
        if (state_1.ticks >= rest_1) then
         local millisecond_7 = (state_1.millisecond - whole_1)
         local ticks_12 = (state_1.ticks - rest_1)
         do return { millisecond = millisecond_7, ticks = ticks_12 } end
        else
         local millisecond_8 = ((state_1.millisecond - whole_1) - 1)
         local ticks_13 = (state_1.ticks + (a - rest_1))
         do return { millisecond = millisecond_8, ticks = ticks_13 } end
        end
       else
        do return initial end
       end
      else
       do return state_1 end
      end
     end
    end,
    reset = function(tat_3, now_6)
     local wait_2 = ((tat_3.millisecond + js_ceil(((tat_3.ticks - 0) / a))) - now_6)
     if (wait_2 > 0) then
      do return wait_2 end
     else
      do return 0 end
     end
    end,
    encode = function(at_4)
     if (at_4.ticks == 0) then
      do return 't1 ' .. js_text(at_4.millisecond) end
     else
      do return 't1 ' .. js_text(at_4.millisecond) .. ' ' .. js_text(at_4.ticks) end
     end
    end,
    decode = function(text_2)
     local result_6
     local counts_2 = js_countsAfter('t1', text_2)
     if (counts_2 == nil) then
      result_6 = nil
     else
      if (#counts_2 == 1) then
       result_6 = { counts_2[1], 0 }
      else
       if ((#counts_2 == 2) and (counts_2[2] ~= 0)) then
        result_6 = { counts_2[1], counts_2[2] }
       else
        result_6 = nil
       end
      end
     end
     if (result_6 == nil) then
      do return nil end
     else
      local millisecond_9 = result_6[1]
      local ticks_14 = result_6[2]
      if ((not ((js_isSafeInteger(millisecond_9) and (millisecond_9 >= 0))) or not ((js_isSafeInteger(ticks_14) and (ticks_14 >= 0)))) or (ticks_14 >= a)) then
       do return nil end
      else
       if ((millisecond_9 == 0) and (ticks_14 == 0)) then
        do return initial end
       else
        do return { millisecond = millisecond_9, ticks = ticks_14 } end
       end
      end
     end
    end,
   } end
  else
   if (name == 'counter') then
    local exact_3 = (((2 ^ 53) - 1) / b)
    local mostUse_3 = js_max(a, js_min(MOST_USE, js_floor(exact_3)))
    do return {
     initial = FRESH,
     take = function(state_2, now_7, cost_3)
      if (cost_3 > 0) then
       local result_7
       local window = js_floor((now_7 / b))
       if (window <= state_2.window) then
        result_7 = state_2
       else
        local previous = ((window == (state_2.window + 1)) and state_2.current or 0)
        result_7 = { window = window, previous = previous, current = 0 }
       end
       local result_8
       local elapsed = (now_7 - (result_7.window * b))
       if (elapsed > 0) then
        result_8 = (b - elapsed)
       else
        result_8 = b
       end
       if (cost_3 <= ((a - js_ceil(((result_7.previous * result_8) / b))) - result_7.current)) then
        local result_9
        local window_1 = js_floor((now_7 / b))
        if (window_1 <= state_2.window) then
         result_9 = state_2
        else
         local previous_1 = ((window_1 == (state_2.window + 1)) and state_2.current or 0)
         result_9 = { window = window_1, previous = previous_1, current = 0 }
        end
        local current = (result_9.current + cost_3)
        do return { window = result_9.window, previous = result_9.previous, current = current } end
       else
        do return state_2 end
       end
      else
       if (cost_3 < 0) then
        local units_3 = -(cost_3)
        local age = (js_floor((now_7 / b)) - state_2.window)
        if (age > 1) then
         do return FRESH end
        else
         if (units_3 < state_2.current) then
          local current_1 = (state_2.current - units_3)
          do return { window = state_2.window, previous = state_2.previous, current = current_1 } end
         else
          local choice_1
          if (age == 1) then
           choice_1 = 0
          else
           choice_1 = (state_2.previous - (units_3 - state_2.current))
          end
          if (choice_1 > 0) then
           local window_2 = (state_2.window - 1)
           do return { window = window_2, previous = 0, current = choice_1 } end
          else
           do return FRESH end
          end
         end
        end
       else
        do return state_2 end
       end
      end
     end,
     reset = function(state_3, now_8)
      local result_10
      if (0 >= state_3.current) then
       local room = (0 - state_3.current)
       if (state_3.previous <= room) then
        result_10 = (state_3.window * b)
       else
        result_10 = (((state_3.window + 1) * b) - js_floor(((room * b) / state_3.previous)))
       end
      else
       local window_3 = (state_3.window + 1)
       if (state_3.current <= 0) then
        result_10 = (window_3 * b)
       else
        result_10 = (((window_3 + 1) * b) - js_floor(((0 * b) / state_3.current)))
       end
      end
      do return js_max(0, (result_10 - now_8)) end
     end,
     encode = function(argument)
      do return 'c1 ' .. js_text(argument.window) .. ' ' .. js_text(argument.previous) .. ' ' .. js_text(argument.current) end
     end,
     decode = function(text_3)
      local counts_3 = js_countsAfter('c1', text_3)
      if ((counts_3 == nil) or (#counts_3 ~= 3)) then
       do return nil end
      else
       local window_4 = counts_3[1]
       local previous_2 = counts_3[2]
       local current_2 = counts_3[3]
       if ((not ((js_isSafeInteger(window_4) and (window_4 >= 0))) or not ((js_isSafeInteger(previous_2) and (previous_2 >= 0)))) or not ((js_isSafeInteger(current_2) and (current_2 >= 0)))) then
        do return nil end
       else
        if ((previous_2 > mostUse_3) or (current_2 > mostUse_3)) then
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
     local last_2 = js_floor(((LAST_INSTANT + offset) / b))
     local exact_4 = (2 ^ 53)
     local most = js_min(js_max(a, js_min(MOST_USE, js_floor(exact_4))), js_floor((((2 ^ 53) - 1) / (last_2 + 1))))
     do return {
      initial = 0,
      take = function(state_4, now_9, cost_4)
       if (cost_4 > 0) then
        local result_13
        local result_11
        if (state_4 == 0) then
         result_11 = -(math.huge)
        else
         result_11 = js_floor(((state_4 - 1) / most))
        end
        local result_12
        local index = js_floor(((now_9 + offset) / b))
        if (index > result_11) then
         result_12 = index
        else
         result_12 = result_11
        end
        if (result_12 == result_11) then
         if (state_4 == 0) then
          result_13 = 0
         else
          result_13 = (state_4 - (result_11 * most))
         end
        else
         result_13 = 0
        end
        if (cost_4 <= (a - result_13)) then
         local result_14
         if (state_4 == 0) then
          result_14 = -(math.huge)
         else
          result_14 = js_floor(((state_4 - 1) / most))
         end
         local result_15
         local index_1 = js_floor(((now_9 + offset) / b))
         if (index_1 > result_14) then
          result_15 = index_1
         else
          result_15 = result_14
         end
         local choice_2
         if (result_15 == result_14) then
          if (state_4 == 0) then
           choice_2 = 0
          else
           choice_2 = (state_4 - (result_14 * most))
          end
         else
          choice_2 = 0
         end
         local used = (choice_2 + cost_4)
         do return ((result_15 * most) + used) end
        else
         do return state_4 end
        end
       else
        if (cost_4 < 0) then
         local units_4 = -(cost_4)
         local result_18
         local result_16
         if (state_4 == 0) then
          result_16 = -(math.huge)
         else
          result_16 = js_floor(((state_4 - 1) / most))
         end
         local result_17
         local index_2 = js_floor(((now_9 + offset) / b))
         if (index_2 > result_16) then
          result_17 = index_2
         else
          result_17 = result_16
         end
         if (result_17 == result_16) then
          if (state_4 == 0) then
           result_18 = 0
          else
           result_18 = (state_4 - (result_16 * most))
          end
         else
          result_18 = 0
         end
         if (units_4 < result_18) then
          local result_19
          if (state_4 == 0) then
           result_19 = -(math.huge)
          else
           result_19 = js_floor(((state_4 - 1) / most))
          end
          local used_1 = (result_18 - units_4)
          do return ((result_19 * most) + used_1) end
         else
          do return 0 end
         end
        else
         do return state_4 end
        end
       end
      end,
      reset = function(use, now_10)
       local result_22
       local result_20
       if (use == 0) then
        result_20 = -(math.huge)
       else
        result_20 = js_floor(((use - 1) / most))
       end
       local result_21
       local index_3 = js_floor(((now_10 + offset) / b))
       if (index_3 > result_20) then
        result_21 = index_3
       else
        result_21 = result_20
       end
       if (result_21 == result_20) then
        if (use == 0) then
         result_22 = 0
        else
         result_22 = (use - (result_20 * most))
        end
       else
        result_22 = 0
       end
       if (result_22 == 0) then
        do return 0 end
       else
        local result_23
        if (use == 0) then
         result_23 = -(math.huge)
        else
         result_23 = js_floor(((use - 1) / most))
        end
        do return ((((result_23 + 1) * b) - offset) - now_10) end
       end
      end,
      encode = function(use_1)
       local result_24
       if (use_1 == 0) then
        result_24 = -(math.huge)
       else
        result_24 = js_floor(((use_1 - 1) / most))
       end
       local result_26
       local result_25
       if (use_1 == 0) then
        result_25 = -(math.huge)
       else
        result_25 = js_floor(((use_1 - 1) / most))
       end
       if (use_1 == 0) then
        result_26 = 0
       else
        result_26 = (use_1 - (result_25 * most))
       end
       if (result_26 == 0) then
        do return 'f1' end
       else
        do return 'f1 ' .. js_text(result_24) .. ' ' .. js_text(result_26) end
       end
      end,
      decode = function(text_4)
       if (text_4 == 'f1') then
        do return 0 end
       else
        local counts_4 = js_countsAfter('f1', text_4)
        if ((counts_4 == nil) or (#counts_4 ~= 2)) then
         do return nil end
        else
         local place = counts_4[1]
         local used_2 = counts_4[2]
         if (((((js_isSafeInteger(place) and (place >= 0)) and (place <= last_2)) and (js_isSafeInteger(used_2) and (used_2 >= 0))) and (used_2 >= 1)) and (used_2 <= most)) then
          local place_1 = counts_4[1]
          local used_3 = counts_4[2]
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
      local last_3 = js_floor(((LAST_INSTANT + offset_1) / b))
      local exact_5 = (2 ^ 53)
      local most_1 = js_max(a, js_min(MOST_USE, js_floor(exact_5)))
      local place_2 = -(math.huge)
      local initial_1 = { place = place_2, used = 0 }
      do return {
       initial = initial_1,
       take = function(state_5, now_11, cost_5)
        if (cost_5 > 0) then
         local result_28
         local result_27
         local index_4 = js_floor(((now_11 + offset_1) / b))
         if (index_4 > state_5.place) then
          result_27 = index_4
         else
          result_27 = state_5.place
         end
         if (result_27 == state_5.place) then
          result_28 = state_5.used
         else
          result_28 = 0
         end
         if (cost_5 <= (a - result_28)) then
          local result_29
          local index_5 = js_floor(((now_11 + offset_1) / b))
          if (index_5 > state_5.place) then
           result_29 = index_5
          else
           result_29 = state_5.place
          end
          local choice_3
          if (result_29 == state_5.place) then
           choice_3 = state_5.used
          else
           choice_3 = 0
          end
          local used_4 = (choice_3 + cost_5)
          do return { place = result_29, used = used_4 } end
         else
          do return state_5 end
         end
        else
         if (cost_5 < 0) then
          local units_5 = -(cost_5)
          local result_31
          local result_30
          local index_6 = js_floor(((now_11 + offset_1) / b))
          if (index_6 > state_5.place) then
           result_30 = index_6
          else
           result_30 = state_5.place
          end
          if (result_30 == state_5.place) then
           result_31 = state_5.used
          else
           result_31 = 0
          end
          if (units_5 < result_31) then
           local used_5 = (result_31 - units_5)
           do return { place = state_5.place, used = used_5 } end
          else
           do return initial_1 end
          end
         else
          do return state_5 end
         end
        end
       end,
       reset = function(use_2, now_12)
        local result_33
        local result_32
        local index_7 = js_floor(((now_12 + offset_1) / b))
        if (index_7 > use_2.place) then
         result_32 = index_7
        else
         result_32 = use_2.place
        end
        if (result_32 == use_2.place) then
         result_33 = use_2.used
        else
         result_33 = 0
        end
        if (result_33 == 0) then
         do return 0 end
        else
         do return ((((use_2.place + 1) * b) - offset_1) - now_12) end
        end
       end,
       encode = function(use_3)
        if (use_3.used == 0) then
         do return 'f1' end
        else
         do return 'f1 ' .. js_text(use_3.place) .. ' ' .. js_text(use_3.used) end
        end
       end,
       decode = function(text_5)
        if (text_5 == 'f1') then
         do return initial_1 end
        else
         local counts_5 = js_countsAfter('f1', text_5)
         if ((counts_5 == nil) or (#counts_5 ~= 2)) then
          do return nil end
         else
          local place_3 = counts_5[1]
          local used_6 = counts_5[2]
          if (((((js_isSafeInteger(place_3) and (place_3 >= 0)) and (place_3 <= last_3)) and (js_isSafeInteger(used_6) and (used_6 >= 0))) and (used_6 >= 1)) and (used_6 <= most_1)) then
           local place_4 = counts_5[1]
           local used_7 = counts_5[2]
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
       local exact_6 = (2 ^ 53)
       local most_2 = js_min(js_max(a, js_min(MOST_USE, js_floor(exact_6))), js_floor((((2 ^ 53) - 1) / (LAST_INSTANT + 1))))
       do return {
        initial = 0,
        take = function(state_6, now_13, cost_6)
         if (cost_6 > 0) then
          local result_36
          local result_34
          if (state_6 == 0) then
           result_34 = -(math.huge)
          else
           result_34 = js_floor(((state_6 - 1) / most_2))
          end
          local result_35
          if (now_13 < (result_34 + b)) then
           result_35 = result_34
          else
           result_35 = now_13
          end
          if (result_35 == result_34) then
           if (state_6 == 0) then
            result_36 = 0
           else
            result_36 = (state_6 - (result_34 * most_2))
           end
          else
           result_36 = 0
          end
          if (cost_6 <= (a - result_36)) then
           local result_37
           if (state_6 == 0) then
            result_37 = -(math.huge)
           else
            result_37 = js_floor(((state_6 - 1) / most_2))
           end
           local result_38
           if (now_13 < (result_37 + b)) then
            result_38 = result_37
           else
            result_38 = now_13
           end
           local choice_4
           if (result_38 == result_37) then
            if (state_6 == 0) then
             choice_4 = 0
            else
             choice_4 = (state_6 - (result_37 * most_2))
            end
           else
            choice_4 = 0
           end
           local used_8 = (choice_4 + cost_6)
           do return ((result_38 * most_2) + used_8) end
          else
           do return state_6 end
          end
         else
          if (cost_6 < 0) then
           local units_6 = -(cost_6)
           local result_41
           local result_39
           if (state_6 == 0) then
            result_39 = -(math.huge)
           else
            result_39 = js_floor(((state_6 - 1) / most_2))
           end
           local result_40
           if (now_13 < (result_39 + b)) then
            result_40 = result_39
           else
            result_40 = now_13
           end
           if (result_40 == result_39) then
            if (state_6 == 0) then
             result_41 = 0
            else
             result_41 = (state_6 - (result_39 * most_2))
            end
           else
            result_41 = 0
           end
           if (units_6 < result_41) then
            local result_42
            if (state_6 == 0) then
             result_42 = -(math.huge)
            else
             result_42 = js_floor(((state_6 - 1) / most_2))
            end
            local used_9 = (result_41 - units_6)
            do return ((result_42 * most_2) + used_9) end
           else
            do return 0 end
           end
          else
           do return state_6 end
          end
         end
        end,
        reset = function(use_4, now_14)
         local result_45
         local result_43
         if (use_4 == 0) then
          result_43 = -(math.huge)
         else
          result_43 = js_floor(((use_4 - 1) / most_2))
         end
         local result_44
         if (now_14 < (result_43 + b)) then
          result_44 = result_43
         else
          result_44 = now_14
         end
         if (result_44 == result_43) then
          if (use_4 == 0) then
           result_45 = 0
          else
           result_45 = (use_4 - (result_43 * most_2))
          end
         else
          result_45 = 0
         end
         if (result_45 == 0) then
          do return 0 end
         else
          local result_46
          if (use_4 == 0) then
           result_46 = -(math.huge)
          else
           result_46 = js_floor(((use_4 - 1) / most_2))
          end
          do return ((result_46 + b) - now_14) end
         end
        end,
        encode = function(use_5)
         local result_47
         if (use_5 == 0) then
          result_47 = -(math.huge)
         else
          result_47 = js_floor(((use_5 - 1) / most_2))
         end
         local result_49
         local result_48
         if (use_5 == 0) then
          result_48 = -(math.huge)
         else
          result_48 = js_floor(((use_5 - 1) / most_2))
         end
         if (use_5 == 0) then
          result_49 = 0
         else
          result_49 = (use_5 - (result_48 * most_2))
         end
         if (result_49 == 0) then
          do return 'f1' end
         else
          do return 'f1 ' .. js_text(result_47) .. ' ' .. js_text(result_49) end
         end
        end,
        decode = function(text_6)
         if (text_6 == 'f1') then
          do return 0 end
         else
          local counts_6 = js_countsAfter('f1', text_6)
          if ((counts_6 == nil) or (#counts_6 ~= 2)) then
           do return nil end
          else
           local place_5 = counts_6[1]
           local used_10 = counts_6[2]
           if (((((js_isSafeInteger(place_5) and (place_5 >= 0)) and (place_5 <= LAST_INSTANT)) and (js_isSafeInteger(used_10) and (used_10 >= 0))) and (used_10 >= 1)) and (used_10 <= most_2)) then
            local place_6 = counts_6[1]
            local used_11 = counts_6[2]
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
        local exact_7 = (2 ^ 53)
        local most_3 = js_max(a, js_min(MOST_USE, js_floor(exact_7)))
        local place_7 = -(math.huge)
        local initial_2 = { place = place_7, used = 0 }
        do return {
         initial = initial_2,
         take = function(state_7, now_15, cost_7)
          if (cost_7 > 0) then
           local result_51
           local result_50
           if (now_15 < (state_7.place + b)) then
            result_50 = state_7.place
           else
            result_50 = now_15
           end
           if (result_50 == state_7.place) then
            result_51 = state_7.used
           else
            result_51 = 0
           end
           if (cost_7 <= (a - result_51)) then
            local result_52
            if (now_15 < (state_7.place + b)) then
             result_52 = state_7.place
            else
             result_52 = now_15
            end
            local choice_5
            if (result_52 == state_7.place) then
             choice_5 = state_7.used
            else
             choice_5 = 0
            end
            local used_12 = (choice_5 + cost_7)
            do return { place = result_52, used = used_12 } end
           else
            do return state_7 end
           end
          else
           if (cost_7 < 0) then
            local units_7 = -(cost_7)
            local result_54
            local result_53
            if (now_15 < (state_7.place + b)) then
             result_53 = state_7.place
            else
             result_53 = now_15
            end
            if (result_53 == state_7.place) then
             result_54 = state_7.used
            else
             result_54 = 0
            end
            if (units_7 < result_54) then
             local used_13 = (result_54 - units_7)
             do return { place = state_7.place, used = used_13 } end
            else
             do return initial_2 end
            end
           else
            do return state_7 end
           end
          end
         end,
         reset = function(use_6, now_16)
          local result_56
          local result_55
          if (now_16 < (use_6.place + b)) then
           result_55 = use_6.place
          else
           result_55 = now_16
          end
          if (result_55 == use_6.place) then
           result_56 = use_6.used
          else
           result_56 = 0
          end
          if (result_56 == 0) then
           do return 0 end
          else
           do return ((use_6.place + b) - now_16) end
          end
         end,
         encode = function(use_7)
          if (use_7.used == 0) then
           do return 'f1' end
          else
           do return 'f1 ' .. js_text(use_7.place) .. ' ' .. js_text(use_7.used) end
          end
         end,
         decode = function(text_7)
          if (text_7 == 'f1') then
           do return initial_2 end
          else
           local counts_7 = js_countsAfter('f1', text_7)
           if ((counts_7 == nil) or (#counts_7 ~= 2)) then
            do return nil end
           else
            local place_8 = counts_7[1]
            local used_14 = counts_7[2]
            if (((((js_isSafeInteger(place_8) and (place_8 >= 0)) and (place_8 <= LAST_INSTANT)) and (js_isSafeInteger(used_14) and (used_14 >= 0))) and (used_14 >= 1)) and (used_14 <= most_3)) then
             local place_9 = counts_7[1]
             local used_15 = counts_7[2]
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
runSteps = function(formulas, steps, count, texts, now, write)
local transitions = js_map(formulas, transitionBy)
local states_5 = {  }
local owners = {  }
local resets = {  }
local take = function(at_5, instant_1)
 local key = steps[at_5 + 1]
 local transition = transitions[steps[(at_5 + 1) + 1] + 1]
 local result_57
 local known = states_5[key + 1]
 if (known ~= nil) then
  result_57 = known
 else
  local text_11 = texts[key + 1]
  if ((text_11 == nil) or (resets[key + 1] ~= nil)) then
   result_57 = transition.initial
  else
   local state_10 = transition.decode(text_11)
   if (state_10 == nil) then
    result_57 = transition.initial
   else
    states_5[key + 1] = state_10
    result_57 = state_10
   end
  end
 end
 local state_11 = result_57
 do
  local turn = 0
  while (turn < steps[(at_5 + 3) + 1]) do
   local next_2 = transition.take(state_11, instant_1, steps[(at_5 + 2) + 1])
   if (next_2 == state_11) then
    break
   end
   state_11 = next_2
   turn = turn + 1
  end
 end
 if (state_11 ~= result_57) then
  states_5[key + 1] = state_11
  owners[key + 1] = transition
  resets[key + 1] = transition.reset(state_11, instant_1)
 end
end
local takeEach = function(at_6, end_1, instant_2)
 local taken_1 = {  }
 do
  local place_15 = at_6
  while (place_15 < end_1) do
   local transition_1 = transitions[steps[(place_15 + 1) + 1] + 1]
   local result_58
   local key_1 = steps[place_15 + 1]
   local known_1 = states_5[key_1 + 1]
   if (known_1 ~= nil) then
    result_58 = known_1
   else
    local text_12 = texts[key_1 + 1]
    if ((text_12 == nil) or (resets[key_1 + 1] ~= nil)) then
     result_58 = transition_1.initial
    else
     local state_12 = transition_1.decode(text_12)
     if (state_12 == nil) then
      result_58 = transition_1.initial
     else
      states_5[key_1 + 1] = state_12
      result_58 = state_12
     end
    end
   end
   local next_3 = transition_1.take(result_58, instant_2, steps[(place_15 + 2) + 1])
   if ((next_3 == result_58) and (steps[(place_15 + 2) + 1] > 0)) then
    do return end
   else
    taken_1[#taken_1 + 1] = next_3
   end
   place_15 = place_15 + 4
  end
 end
 do
  local place_16 = at_6
  while (place_16 < end_1) do
   local transition_2 = transitions[steps[(place_16 + 1) + 1] + 1]
   local next_4 = taken_1[((place_16 - at_6) / 4) + 1]
   local result_59
   local key_2 = steps[place_16 + 1]
   local known_2 = states_5[key_2 + 1]
   if (known_2 ~= nil) then
    result_59 = known_2
   else
    local text_13 = texts[key_2 + 1]
    if ((text_13 == nil) or (resets[key_2 + 1] ~= nil)) then
     result_59 = transition_2.initial
    else
     local state_13 = transition_2.decode(text_13)
     if (state_13 == nil) then
      result_59 = transition_2.initial
     else
      states_5[key_2 + 1] = state_13
      result_59 = state_13
     end
    end
   end
   local isChanged_1 = (next_4 ~= result_59)
   if (isChanged_1 and (steps[(place_16 + 3) + 1] == 0)) then
    local key_3 = steps[place_16 + 1]
    states_5[key_3 + 1] = next_4
    owners[key_3 + 1] = transition_2
    resets[key_3 + 1] = transition_2.reset(next_4, instant_2)
   end
   place_16 = place_16 + 4
  end
 end
end
local instant_3 = now
local at_7 = 0
while (at_7 < #steps) do
 local word = steps[at_7 + 1]
 if (word == TAKE) then
  take((at_7 + 1), instant_3)
  at_7 = at_7 + 5
 else
  if (word == TAKE_ALL) then
   local end_2 = ((at_7 + 2) + (steps[(at_7 + 1) + 1] * 4))
   takeEach((at_7 + 2), end_2, instant_3)
   at_7 = end_2
  else
   if (word == SET_INSTANT) then
    instant_3 = ((steps[(at_7 + 1) + 1] < 0) and now or steps[(at_7 + 1) + 1])
    at_7 = at_7 + 2
   else
    local key_4 = steps[(at_7 + 1) + 1]
    states_5[key_4 + 1] = nil
    owners[key_4 + 1] = nil
    resets[key_4 + 1] = 0
    at_7 = at_7 + 2
   end
  end
 end
end
do
 local key_5 = 0
 while (key_5 < count) do
  local reset = resets[key_5 + 1]
  if (reset ~= nil) then
   local result_60
   local transition_3 = owners[key_5 + 1]
   local state_14 = states_5[key_5 + 1]
   if ((transition_3 == nil) or (state_14 == transition_3.initial)) then
    result_60 = nil
   else
    result_60 = transition_3.encode(state_14)
   end
   local lifetime = js_ceil(((js_min(reset, LONGEST) + MARGIN) + LEEWAY))
   if (result_60 ~= texts[key_5 + 1]) then
    write(key_5, result_60, js_text(lifetime))
   end
  end
  key_5 = key_5 + 1
 end
end
end
local call, decode = redis.call, cjson.decode
local reply = call('TIME')
local count = #KEYS
if count == 0 then return reply end
local given = decode(ARGV[1])
local now, texts = given[1], {}
if now < 0 then now = js_floor(reply[1] * 1000 + reply[2] / 1000) end
for first = 1, count, 1000 do
  local held = call('MGET', unpack(KEYS, first, js_min(first + 999, count)))
  for place = 1, #held do
    texts[first - 1 + place] = held[place] or nil
    reply[#reply + 1] = held[place]
  end
end
runSteps(given[2], given[3], count, texts, now, function(place, text, lifetime)
  if text == nil then
    call('DEL', KEYS[place + 1])
  else
    call('SET', KEYS[place + 1], text, 'PX', lifetime)
  end
end)
return reply
`.trim();

/** Its name on a server that has seen it: the SHA-1 of its text. */
export const STATE_TRANSITIONS_SHA = "2c981e5f93fdc865164bec330a5b60fce3647b39";
