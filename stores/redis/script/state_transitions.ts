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
local encode, decode, isCount, mostUnits, arrivalTime, takeBy, transitionOf, ticksTransition, fineTransition, windowTransition, counterTransition, allTransition, transitionBy, textOf, runSteps
local LAST_INSTANT = (2 ^ 42)
local FURTHEST = (2 ^ 52)
local MOST_USE = 1000000000
local LEAST_PACKED = 16
local FRESH = ({
 window = 0,
 previous = 0,
 current = 0,
})
local SET_INSTANT = 2
local TAKE_ALL = 3
local TAKE = 0
local LONGEST = (2 ^ 42)
local MARGIN = 5000
local LEEWAY = 3000
function encode(millisecond, ticks)
 if (ticks == 0) then
  do return 't1 ' .. js_text(millisecond) end
 else
  do return 't1 ' .. js_text(millisecond) .. ' ' .. js_text(ticks) end
 end
end
function decode(text)
 local counts = js_countsAfter('t1', text)
 if (counts == nil) then
  do return nil end
 end
 if (#counts == 1) then
  do return { counts[1], 0 } end
 end
 if ((#counts == 2) and (counts[2] ~= 0)) then
  do return { counts[1], counts[2] } end
 else
  do return nil end
 end
end
function isCount(value)
 do return (js_isSafeInteger(value) and (value >= 0)) end
end
function mostUnits(capacity, exact)
 do return js_max(capacity, js_min(MOST_USE, js_floor(exact))) end
end
function arrivalTime(scale, interval, burst, mostUse)
 local destructured_
 destructured_ = scale
 local initial = destructured_.initial
 local ahead = destructured_.ahead
 local due = destructured_.due
 local later = destructured_.later
 local earlier = destructured_.earlier
 local tolerance = (burst * interval)
 local function until_(tat, now, ticks)
  local wait = (due(tat, ticks) - now)
  if (wait > 0) then
   do return wait end
  else
   do return 0 end
  end
 end
 do return {
  add = function(tat, now, units)
   do return later(tat, now, (units * interval)) end
  end,
  giveBack = function(tat, now, units)
   local decrement = (((units < mostUse) and units or mostUse) * interval)
   if (decrement < ahead(tat, now)) then
    do return earlier(tat, decrement) end
   else
    do return initial end
   end
  end,
  free = function(tat, now)
   do return js_floor(((tolerance - ahead(tat, now)) / interval)) end
  end,
  reset = function(tat, now)
   do return until_(tat, now, 0) end
  end,
 } end
end
function takeBy(argument0)
 local add = argument0.add
 local giveBack = argument0.giveBack
 local free = argument0.free
 do return function(state, now, cost)
  if (cost > 0) then
   if (cost <= free(state, now)) then
    do return add(state, now, cost) end
   else
    do return state end
   end
  end
  if (cost < 0) then
   do return giveBack(state, now, -(cost)) end
  else
   do return state end
  end
 end end
end
function transitionOf(argument0)
 local initial = argument0.initial
 local questions = argument0.questions
 local codec = argument0.codec
 local transition = {
  initial = initial,
  take = takeBy(questions),
  reset = questions.reset,
  codec = codec,
 }
 do return transition end
end
function ticksTransition(perStep, step, interval, burst)
 local wholeArrivalTime, ticksArithmetic, wholeTicks, numberCodec
 function wholeArrivalTime(limit, perMillisecond, interval, burst, mostUse, queues)
  local tolerance = (burst * interval)
  local maxDebt = (mostUse - burst)
  do return {
   take = function(tat, now, cost)
    local tick = (now * perMillisecond)
    if (cost > 0) then
     if (cost > burst) then
      do return tat end
     end
     local next = (((tat > tick) and tat or tick) + (cost * interval))
     if ((next - tick) <= tolerance) then
      do return next end
     else
      do return tat end
     end
    end
    if (cost == 0) then
     do return tat end
    end
    local next = (tat - (((-(cost) < mostUse) and -(cost) or mostUse) * interval))
    if (next > tick) then
     do return next end
    else
     do return 0 end
    end
   end,
  } end
 end
 function ticksArithmetic(perStep, step, interval, burst)
  local scale = wholeTicks(perStep, step)
  local mostUse = mostUnits(burst, (scale.furthest / interval))
  local questions = arrivalTime(scale, interval, burst, mostUse)
  do return {
   capacity = burst,
   mostUse = mostUse,
   initial = scale.initial,
   questions = questions,
   codec = scale.codec,
  } end
 end
 function wholeTicks(perStep, step)
  if step == nil then step = 1 end
  local last = (js_ceil((LAST_INSTANT / step)) * perStep)
  do return {
   initial = 0,
   furthest = js_min((((2 ^ 53) - 1) - last), (js_floor((FURTHEST / step)) * perStep)),
   ahead = function(at, now)
    local ticks = (at - (js_floor((now / step)) * perStep))
    if (ticks > 0) then
     do return ticks end
    else
     do return 0 end
    end
   end,
   due = function(at, ticks)
    do return (js_ceil(((at - ticks) / perStep)) * step) end
   end,
   later = function(at, now, ticks)
    local instant = (js_floor((now / step)) * perStep)
    do return (((at > instant) and at or instant) + ticks) end
   end,
   earlier = function(at, ticks)
    do return (at - ticks) end
   end,
   codec = numberCodec(perStep, step),
  } end
 end
 function numberCodec(perStep, step)
  do return {
   encode = function(at)
    local steps = js_floor((at / perStep))
    do return encode((steps * step), (at - (steps * perStep))) end
   end,
   decode = function(text)
    local instant = decode(text)
    if (instant == nil) then
     do return nil end
    end
    local destructured_
    destructured_ = instant
    local millisecond = destructured_[1]
    local ticks = destructured_[2]
    if ((js_fmod(millisecond, step) ~= 0) or not ((ticks < perStep))) then
     do return nil end
    end
    local at = (((millisecond / step) * perStep) + ticks)
    if isCount(at) then
     do return at end
    else
     do return nil end
    end
   end,
  } end
 end
 local arithmetic = ticksArithmetic(perStep, step, interval, burst)
 local transition = transitionOf(arithmetic)
 if (step ~= 1) then
  do return transition end
 end
 local destructured_
 destructured_ = wholeArrivalTime(1, perStep, interval, burst, arithmetic.mostUse, false)
 local take = destructured_.take
 local destructured_
 destructured_ = transition
 local initial = destructured_.initial
 local reset = destructured_.reset
 local codec = destructured_.codec
 do return {
  initial = initial,
  take = take,
  reset = reset,
  codec = codec,
 } end
end
function fineTransition(perMillisecond, interval, burst)
 local fineArithmetic, fineTicks, fineCodec
 function fineArithmetic(perMillisecond, interval, burst)
  local scale = fineTicks(perMillisecond)
  local mostUse = mostUnits(burst, (scale.furthest / interval))
  local questions = arrivalTime(scale, interval, burst, mostUse)
  do return {
   capacity = burst,
   mostUse = mostUse,
   initial = scale.initial,
   questions = questions,
   codec = scale.codec,
  } end
 end
 function fineTicks(perMillisecond)
  local initial = ({
   millisecond = 0,
   ticks = 0,
  })
  do return {
   initial = initial,
   furthest = js_min(((2 ^ 53) - 1), (FURTHEST * perMillisecond)),
   ahead = function(at, now)
    local ticks = (((at.millisecond - now) * perMillisecond) + at.ticks)
    if (ticks > 0) then
     do return ticks end
    else
     do return 0 end
    end
   end,
   due = function(at, ticks)
    do return (at.millisecond + js_ceil(((at.ticks - ticks) / perMillisecond))) end
   end,
   later = function(at, now, ticks)
    local whole = js_floor((ticks / perMillisecond))
    local rest = (ticks - (whole * perMillisecond))
    local destructured_
    if (at.millisecond >= now) then
     destructured_ = { at.millisecond, at.ticks }
    else
     destructured_ = { now, 0 }
    end
    local millisecond = destructured_[1]
    local beyond = destructured_[2]
    if (beyond >= (perMillisecond - rest)) then
     do return {
      millisecond = ((millisecond + whole) + 1),
      ticks = (beyond - (perMillisecond - rest)),
     } end
    else
     do return {
      millisecond = (millisecond + whole),
      ticks = (beyond + rest),
     } end
    end
   end,
   earlier = function(at, ticks)
    local whole = js_floor((ticks / perMillisecond))
    local rest = (ticks - (whole * perMillisecond))
    if (at.ticks >= rest) then
     do return {
      millisecond = (at.millisecond - whole),
      ticks = (at.ticks - rest),
     } end
    else
     do return {
      millisecond = ((at.millisecond - whole) - 1),
      ticks = (at.ticks + (perMillisecond - rest)),
     } end
    end
   end,
   codec = fineCodec(initial, perMillisecond),
  } end
 end
 function fineCodec(initial, perMillisecond)
  local function instant(millisecond, ticks)
   if ((not (isCount(millisecond)) or not (isCount(ticks))) or (ticks >= perMillisecond)) then
    do return nil end
   end
   if ((millisecond == 0) and (ticks == 0)) then
    do return initial end
   else
    do return {
     millisecond = millisecond,
     ticks = ticks,
    } end
   end
  end
  do return {
   encode = function(at)
    do return encode(at.millisecond, at.ticks) end
   end,
   decode = function(text)
    local held = decode(text)
    if (held == nil) then
     do return nil end
    else
     do return instant(held[1], held[2]) end
    end
   end,
  } end
 end
 do return transitionOf(fineArithmetic(perMillisecond, interval, burst)) end
end
function windowTransition(limit, period, shift)
 local windowArithmetic, wideUse, useText, onForm, windowQuestions, packedUse, inRow, opened
 function windowArithmetic(limit, period, shift)
  local windows
  if (shift < 0) then
   windows = opened(period)
  else
   windows = inRow(period, shift)
  end
  local destructured_
  destructured_ = windows
  local last = destructured_.last
  local most = mostUnits(limit, (2 ^ 53))
  local packed = js_floor((((2 ^ 53) - 1) / (last + 1)))
  if (packed >= js_min(most, (LEAST_PACKED * limit))) then
   local form = packedUse(js_min(most, packed), last)
   do return onForm(limit, windows, form) end
  end
  do return onForm(limit, windows, wideUse(most, last)) end
 end
 function wideUse(most, lastPlace)
  local initial = ({
   place = -(math.huge),
   used = 0,
  })
  local of = function(place, used)
   do return {
    place = place,
    used = used,
   } end
  end
  local destructured_
  destructured_ = useText(most, lastPlace)
  local encode = destructured_.encode
  local decode = destructured_.decode
  local isUse = destructured_.isUse
  do return {
   initial = initial,
   most = most,
   of = of,
   place = function(use)
    do return use.place end
   end,
   used = function(use)
    do return use.used end
   end,
   codec = {
    encode = function(use)
     do return encode(use.place, use.used) end
    end,
    decode = function(text)
     do return decode(text, initial, of) end
    end,
   },
  } end
 end
 function useText(most, lastPlace)
  local isUse = function(place, used)
   do return ((((isCount(place) and (place <= lastPlace)) and isCount(used)) and (used >= 1)) and (used <= most)) end
  end
  do return {
   isUse = isUse,
   encode = function(place, used)
    if (used == 0) then
     do return 'f1' end
    else
     do return 'f1 ' .. js_text(place) .. ' ' .. js_text(used) end
    end
   end,
   decode = function(text, initial, of)
    if (text == 'f1') then
     do return initial end
    end
    local counts = js_countsAfter('f1', text)
    if ((counts == nil) or (#counts ~= 2)) then
     do return nil end
    end
    if isUse(counts[1], counts[2]) then
     do return of(counts[1], counts[2]) end
    else
     do return nil end
    end
   end,
  } end
 end
 function onForm(limit, windows, form)
  local questions = windowQuestions(limit, windows, form)
  local destructured_
  destructured_ = form
  local initial = destructured_.initial
  local most = destructured_.most
  local codec = destructured_.codec
  do return {
   capacity = limit,
   mostUse = most,
   initial = initial,
   questions = questions,
   codec = codec,
  } end
 end
 function windowQuestions(limit, windows, argument2)
  local initial = argument2.initial
  local of = argument2.of
  local place = argument2.place
  local used = argument2.used
  local function usedNow(use, now)
   local held = place(use)
   if (windows.current(now, held) == held) then
    do return used(use) end
   else
    do return 0 end
   end
  end
  local function untilEnd(use, now)
   if (usedNow(use, now) == 0) then
    do return 0 end
   else
    do return (windows.end_(place(use)) - now) end
   end
  end
  do return {
   add = function(use, now, units)
    do return of(windows.current(now, place(use)), (usedNow(use, now) + units)) end
   end,
   giveBack = function(use, now, units)
    local count = usedNow(use, now)
    if (units < count) then
     do return of(place(use), (count - units)) end
    else
     do return initial end
    end
   end,
   free = function(use, now)
    do return (limit - usedNow(use, now)) end
   end,
   reset = untilEnd,
  } end
 end
 function packedUse(most, lastPlace)
  local place = function(use)
   if (use == 0) then
    do return -(math.huge) end
   else
    do return js_floor(((use - 1) / most)) end
   end
  end
  local used = function(use)
   if (use == 0) then
    do return 0 end
   else
    do return (use - (js_floor(((use - 1) / most)) * most)) end
   end
  end
  local of = function(place, used)
   do return ((place * most) + used) end
  end
  local destructured_
  destructured_ = useText(most, lastPlace)
  local encode = destructured_.encode
  local decode = destructured_.decode
  local isUse = destructured_.isUse
  do return {
   initial = 0,
   most = most,
   of = of,
   place = place,
   used = used,
   codec = {
    encode = function(use)
     do return encode(place(use), used(use)) end
    end,
    decode = function(text)
     do return decode(text, 0, of) end
    end,
   },
  } end
 end
 function inRow(period, shift)
  local offset = js_fmod((period - shift), period)
  local indexOf = function(now)
   do return js_floor(((now + offset) / period)) end
  end
  do return {
   current = function(now, place)
    local index = indexOf(now)
    if (index > place) then
     do return index end
    else
     do return place end
    end
   end,
   end_ = function(place)
    do return (((place + 1) * period) - offset) end
   end,
   last = indexOf(LAST_INSTANT),
  } end
 end
 function opened(period)
  do return {
   current = function(now, place)
    if (now < (place + period)) then
     do return place end
    else
     do return now end
    end
   end,
   end_ = function(place)
    do return (place + period) end
   end,
   last = LAST_INSTANT,
  } end
 end
 do return transitionOf(windowArithmetic(limit, period, shift)) end
end
function counterTransition(limit, period)
 local counterArithmetic, counterCodec, stateOf, counterQuestions, fadedTo, roomAt, faded, left, countsAt
 function counterArithmetic(limit, period)
  local mostUse = mostUnits(limit, (((2 ^ 53) - 1) / period))
  local questions = counterQuestions(limit, period)
  do return {
   capacity = limit,
   mostUse = mostUse,
   initial = FRESH,
   questions = questions,
   codec = counterCodec(mostUse),
  } end
 end
 function counterCodec(most)
  do return {
   encode = function(argument0)
    local window = argument0.window
    local previous = argument0.previous
    local current = argument0.current
    do return 'c1 ' .. js_text(window) .. ' ' .. js_text(previous) .. ' ' .. js_text(current) end
   end,
   decode = function(text)
    local counts = js_countsAfter('c1', text)
    if ((counts == nil) or (#counts ~= 3)) then
     do return nil end
    end
    do return stateOf(most, counts[1], counts[2], counts[3]) end
   end,
  } end
 end
 function stateOf(most, window, previous, current)
  if ((not (isCount(window)) or not (isCount(previous))) or not (isCount(current))) then
   do return nil end
  end
  if ((previous > most) or (current > most)) then
   do return nil end
  end
  if (current == 0) then
   if ((window == 0) and (previous == 0)) then
    do return FRESH end
   else
    do return nil end
   end
  end
  do return {
   window = window,
   previous = previous,
   current = current,
  } end
 end
 function counterQuestions(limit, period)
  do return {
   add = function(state, now, units)
    local destructured_
    destructured_ = countsAt(state, now, period)
    local window = destructured_.window
    local previous = destructured_.previous
    local current = destructured_.current
    do return {
     window = window,
     previous = previous,
     current = (current + units),
    } end
   end,
   giveBack = function(argument0, now, units)
    local window = argument0.window
    local previous = argument0.previous
    local current = argument0.current
    local age = (js_floor((now / period)) - window)
    if (age > 1) then
     do return FRESH end
    end
    if (units < current) then
     do return {
      window = window,
      previous = previous,
      current = (current - units),
     } end
    end
    local older
    if (age == 1) then
     older = 0
    else
     older = (previous - (units - current))
    end
    if (older > 0) then
     do return {
      window = (window - 1),
      previous = 0,
      current = older,
     } end
    else
     do return FRESH end
    end
   end,
   free = function(state, now)
    local counts = countsAt(state, now, period)
    do return ((limit - faded(counts, now, period)) - counts.current) end
   end,
   reset = function(state, now)
    do return js_max(0, (fadedTo(state, 0, period) - now)) end
   end,
  } end
 end
 function fadedTo(state, units, period)
  local destructured_
  destructured_ = state
  local window = destructured_.window
  local previous = destructured_.previous
  local current = destructured_.current
  if (units >= current) then
   do return roomAt(window, previous, (units - current), period) end
  else
   do return roomAt((window + 1), current, units, period) end
  end
 end
 function roomAt(window, previous, room, period)
  if (previous <= room) then
   do return (window * period) end
  end
  do return (((window + 1) * period) - js_floor(((room * period) / previous))) end
 end
 function faded(argument0, now, period)
  local window = argument0.window
  local previous = argument0.previous
  do return js_ceil(((previous * left(window, now, period)) / period)) end
 end
 function left(window, now, period)
  local elapsed = (now - (window * period))
  if (elapsed > 0) then
   do return (period - elapsed) end
  else
   do return period end
  end
 end
 function countsAt(state, now, period)
  local window = js_floor((now / period))
  if (window <= state.window) then
   do return state end
  end
  do return {
   window = window,
   previous = ((window == (state.window + 1)) and state.current or 0),
   current = 0,
  } end
 end
 do return transitionOf(counterArithmetic(limit, period)) end
end
function allTransition(formula)
 local decodeAll, encodeAll, takeAll
 function decodeAll(codecs, initial, text)
  if (js_slice(text, 0, 2) ~= 'a1') then
   do return nil end
  end
  local states = {  }
  local isFresh = true
  local start = 2
  do
   local place = 0
   while (place < #codecs) do
    local colon = js_indexOf(text, ':', start)
    if ((colon < 0) or (js_slice(text, start, (start + 1)) ~= ' ')) then
     do return nil end
    end
    local end_ = ((colon + 1) + js_countOf(js_slice(text, (start + 1), colon)))
    if not ((end_ <= #text)) then
     do return nil end
    end
    local state = codecs[place + 1].decode(js_slice(text, (colon + 1), end_))
    if (state == nil) then
     do return nil end
    end
    if (state ~= initial[place + 1]) then
     isFresh = false
    end
    js_push(states, state)
    start = end_
    place = place + 1
   end
  end
  if (start ~= #text) then
   do return nil end
  end
  if isFresh then
   do return initial end
  else
   do return states end
  end
 end
 function encodeAll(codecs, states)
  local text = 'a1'
  do
   local place = 0
   while (place < #codecs) do
    local own = codecs[place + 1].encode(states[place + 1])
    text = js_text(text) .. ' ' .. js_text(#own) .. ':' .. js_text(own)
    place = place + 1
   end
  end
  do return text end
 end
 function takeAll(takes, refuses, initial)
  do return function(states, now, cost)
   if (cost == 0) then
    do return states end
   end
   local next = {  }
   local isChanged = false
   local isFresh = true
   do
    local place = 0
    while (place < #takes) do
     local state = states[place + 1]
     local taken = takes[place + 1](state, now, cost)
     if (taken ~= state) then
      isChanged = true
     else
      if ((cost > 0) and refuses(place, state, now, cost)) then
       do return states end
      end
     end
     if (taken ~= initial[place + 1]) then
      isFresh = false
     end
     js_push(next, taken)
     place = place + 1
    end
   end
   if not (isChanged) then
    do return states end
   end
   if isFresh then
    do return initial end
   else
    do return next end
   end
  end end
 end
 local parts = {  }
 do
  local place = 1
  while (place < #formula) do
   js_push(parts, transitionBy(formula[place + 1]))
   place = place + 1
  end
 end
 local initial = js_map(parts, function(part)
  do return part.initial end
 end)
 local codecs = js_map(parts, function(part)
  do return part.codec end
 end)
 local resets = js_map(parts, function(part)
  do return part.reset end
 end)
 local transition = {
  initial = initial,
  take = takeAll(js_map(parts, function(part)
   do return part.take end
  end), function()
   do return true end
  end, initial),
  reset = function(states, now)
   local longest = 0
   do
    local place = 0
    while (place < #resets) do
     longest = js_max(longest, resets[place + 1](states[place + 1], now))
     place = place + 1
    end
   end
   do return longest end
  end,
  codec = {
   encode = function(states)
    do return encodeAll(codecs, states) end
   end,
   decode = function(text)
    do return decodeAll(codecs, initial, text) end
   end,
  },
 }
 do return transition end
end
function transitionBy(formula)
 local destructured_
 destructured_ = formula
 local name = destructured_[1]
 local a = destructured_[2]
 local b = destructured_[3]
 local c = destructured_[4]
 local d = destructured_[5]
 if (name == 'ticks') then
  do return ticksTransition(a, b, c, d) end
 end
 if (name == 'fine') then
  do return fineTransition(a, b, c) end
 end
 if (name == 'window') then
  do return windowTransition(a, b, c) end
 end
 if (name == 'counter') then
  do return counterTransition(a, b) end
 end
 do return allTransition(formula) end
end
function textOf(transition, state)
 if ((transition == nil) or (state == transition.initial)) then
  do return nil end
 end
 do return transition.codec.encode(state) end
end
function runSteps(formulas, steps, count, texts, now, write)
 local transitions = js_map(formulas, transitionBy)
 local states = {  }
 local owners = {  }
 local resets = {  }
 local function stateOf(key, transition)
  local known = states[key + 1]
  if (known ~= nil) then
   do return known end
  end
  local text = texts[key + 1]
  if ((text == nil) or (resets[key + 1] ~= nil)) then
   do return transition.initial end
  end
  local state = transition.codec.decode(text)
  if (state == nil) then
   do return transition.initial end
  end
  states[key + 1] = state
  do return state end
 end
 local function put(key, transition, state, instant)
  states[key + 1] = state
  owners[key + 1] = transition
  resets[key + 1] = transition.reset(state, instant)
 end
 local function take(at, instant)
  local key = steps[at + 1]
  local transition = transitions[steps[(at + 1) + 1] + 1]
  local held = stateOf(key, transition)
  local state = held
  do
   local turn = 0
   while (turn < steps[(at + 3) + 1]) do
    local next = transition.take(state, instant, steps[(at + 2) + 1])
    if (next == state) then
     break
    end
    state = next
    turn = turn + 1
   end
  end
  if (state ~= held) then
   put(key, transition, state, instant)
  end
 end
 local function takeEach(at, end_, instant)
  local taken = {  }
  do
   local place = at
   while (place < end_) do
    local transition = transitions[steps[(place + 1) + 1] + 1]
    local held = stateOf(steps[place + 1], transition)
    local next = transition.take(held, instant, steps[(place + 2) + 1])
    if ((next == held) and (steps[(place + 2) + 1] > 0)) then
     do return end
    end
    js_push(taken, next)
    place = place + 4
   end
  end
  do
   local place = at
   while (place < end_) do
    local transition = transitions[steps[(place + 1) + 1] + 1]
    local next = taken[((place - at) / 4) + 1]
    local isChanged = (next ~= stateOf(steps[place + 1], transition))
    if (isChanged and (steps[(place + 3) + 1] == 0)) then
     put(steps[place + 1], transition, next, instant)
    end
    place = place + 4
   end
  end
 end
 local instant = now
 local at = 0
 while (at < #steps) do
  local word = steps[at + 1]
  if (word == TAKE) then
   take((at + 1), instant)
   at = at + 5
  else
   if (word == TAKE_ALL) then
    local end_ = ((at + 2) + (steps[(at + 1) + 1] * 4))
    takeEach((at + 2), end_, instant)
    at = end_
   else
    if (word == SET_INSTANT) then
     instant = ((steps[(at + 1) + 1] < 0) and now or steps[(at + 1) + 1])
     at = at + 2
    else
     local key = steps[(at + 1) + 1]
     states[key + 1] = nil
     owners[key + 1] = nil
     resets[key + 1] = 0
     at = at + 2
    end
   end
  end
 end
 do
  local key = 0
  while (key < count) do
   local reset = resets[key + 1]
   if (reset ~= nil) then
    local text = textOf(owners[key + 1], states[key + 1])
    local lifetime = js_ceil(((js_min(reset, LONGEST) + MARGIN) + LEEWAY))
    if (text ~= texts[key + 1]) then
     write(key, text, js_text(lifetime))
    end
   end
   key = key + 1
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
export const STATE_TRANSITIONS_SHA = "248a1f7276244b351612c97e1d2395bb1b001782";
