/*
 * The script that runs state transitions. It does the work of a script call (words.ts) on states of a few
 * numbers, by the formulas of their algorithms (core/algorithm.ts). It is one generic transition, with an
 * accounting for each kind of state, and a short way for the most common case.
 *
 * It makes exactly the texts that the reducers make, and nothing else. The reducers then decide the same
 * calls on the values that the keys held before. Tests run the steps of all laws through both
 * (tests/stores/redis/script/state_transitions.test.ts), so that they cannot drift apart.
 *
 * The reply has the server's seconds and microseconds, and the old values of the keys, as a list or as
 * lines.
 */

/** The script. */
export const STATE_TRANSITIONS: string = `
local call, byte, find, format = redis.call, string.byte, string.find, string.format
local match, sub, ceil, floor = string.match, string.sub, math.ceil, math.floor
local max, min = math.max, math.min
local reply = call('TIME')
local count = #KEYS
if count == 0 then return reply end
local now = ARGV[1] + 0
if now < 0 then now = floor(reply[1] * 1000 + reply[2] / 1000) end

local LEEWAY, MARGIN, LONGEST = 3000, 5000, 2 ^ 42
-- Only the server's own clock is one that all processes go by: see core/bounded_state.ts.
local isBounded, MOST_AHEAD, DEBT = ARGV[1] + 0 < 0, 5000, ' +'
local LAST_INSTANT, FURTHEST, SAFE = 2 ^ 42, 2 ^ 52, 2 ^ 53 - 1

local texts = call('MGET', unpack(KEYS, 1, min(1000, count)))
for first = 1001, count, 1000 do
  local more = call('MGET', unpack(KEYS, first, min(first + 999, count)))
  for place = 1, #more do texts[first - 1 + place] = more[place] end
end
local function write(place, text, lifetime)
  if not text then
    call('DEL', KEYS[place])
  elseif lifetime == '' then
    call('SET', KEYS[place], text, 'KEEPTTL')
  else
    call('SET', KEYS[place], text, 'PX', lifetime)
  end
end

-- How long a state is to be kept that is fresh at an instant; '' if the one before it was as long.
local function lifetimeOf(before, fresh, instant)
  local last = fresh - fresh % LEEWAY
  if before and before - before % LEEWAY == last then return '' end
  return format('%d', min(last + LEEWAY - instant, LONGEST) + MARGIN)
end

local function encodeTime(millisecond, ticks)
  if ticks == 0 then return format('t1 %d', millisecond) end
  return format('t1 %d %d', millisecond, ticks)
end

-- The short way: one cost, taken of each key so often, by arrival times in whole ticks. Most of its time
-- goes into calls of functions, so it has few. What is not that simple becomes steps.
local steps
if ARGV[3] then
  local cost, per, interval, capacity = ARGV[2] + 0, ARGV[5] + 0, ARGV[7] + 0, ARGV[8] + 0
  local ahead = ARGV[9] + 0
  local times = { byte(ARGV[3], 1, -1) }
  local tick, tolerance, taken = now * per, capacity * interval, cost * interval
  local isTaken = cost > 0 and cost <= capacity
  local furthest = isBounded and now + ceil(ahead * interval / per) + MOST_AHEAD or SAFE
  -- The texts of all keys as one text, which clients read faster than many.
  local lines = {}
  for place = 1, count do
    local left = (times[place * 2 - 1] - 32) * 90 + times[place * 2] - 32
    local text, state, before, isMarked = texts[place], 0, nil, false
    lines[place] = text or ''
    if text then
      local one, two = match(text, '^t1 ([1-9]%d*) ([1-9]%d*)$')
      if not one then one, two = match(text, '^t1 ([1-9]%d*)$'), 0 end
      if not one then
        isMarked = true
        one, two = match(text, '^t1 ([1-9]%d*) ([1-9]%d*) %+$')
        if not one then one, two = match(text, '^t1 ([1-9]%d*) %+$'), 0 end
      end
      if one then
        before, two = one + 0, two + 0
        state = two < per and before * per + two
        if two > 0 then before = before + 1 end
      else
        state = false
      end
    end
    if not state or state > SAFE or before and before > furthest and not isMarked or not isTaken then
      steps = steps or { { { 'ticks', per, 1, interval, capacity, ahead } } }
      if left > 0 then
        local size = #steps
        steps[size + 1], steps[size + 2], steps[size + 3] = 0, place - 1, 0
        steps[size + 4], steps[size + 5] = cost, left
      end
    elseif left > 0 then
      local from = state > tick and state or tick
      -- Calls that fit together also fit one by one, with the same result.
      local room, asked = tolerance - (from - tick), left * taken
      if asked > room then asked = room - room % taken end
      if asked > 0 then
        local time = from + asked
        local rest = time % per
        local millisecond = (time - rest) / per
        local fresh, next = rest > 0 and millisecond + 1 or millisecond, encodeTime(millisecond, rest)
        if fresh > furthest then next = next .. DEBT end
        write(place, next, lifetimeOf(before, fresh, now))
      end
    end
  end
  if not steps then
    reply[3] = table.concat(lines, '\\n')
    return reply
  end
else
  steps = cjson.decode(ARGV[2])
end

for place = 1, count do
  local text = texts[place]
  while text and byte(text, -1) == 33 do
    local from = find(text, ' %d+%.%w+!$')
    if not from then break end
    text = from > 1 and sub(text, 1, from - 1)
    texts[place] = text
  end
end
reply[3] = texts

local function countOf(word)
  if #word > 16 or #word > 1 and byte(word) == 48 or find(word, '%D') or word == '' then return nil end
  local value = word + 0
  return value <= SAFE and value or nil
end

-- The numbers behind a tag, as many as are asked for; nil if the text is not exactly that.
local function numbersAfter(tag, text, most)
  if sub(text, 1, #tag) ~= tag then return nil end
  local numbers, at = {}, #tag + 1
  while at <= #text do
    local _, last, word = find(text, '^ (%d+)', at)
    local value = word and countOf(word)
    if not value or #numbers == most then return nil end
    numbers[#numbers + 1] = value
    at = last + 1
  end
  return numbers
end

local function decodeTime(text)
  local numbers = numbersAfter('t1', text, 2)
  if not numbers or #numbers == 0 or numbers[2] == 0 then return nil end
  return numbers[1], numbers[2] or 0
end

local function mostUnits(capacity, exact)
  return capacity == 0 and 0 or max(capacity, min(1000000000, floor(exact)))
end

-- Each makes the accounting of a formula: see the algorithms in core. fresh(state) is the instant
-- at which a state is fresh.
local accountings = {}

-- Arrival times in ticks, on a clock that moves by perStep at each multiple of step ms.
function accountings.steps(perStep, step, interval, capacity, ahead)
  local tolerance = capacity * interval
  local furthest = min(SAFE - ceil(LAST_INSTANT / step) * perStep, floor(FURTHEST / step) * perStep)
  local most = mostUnits(capacity, furthest / interval)
  return {
    capacity = capacity, most = most, ahead = ahead, initial = 0,
    add = function(at, now, units) return max(at, floor(now / step) * perStep) + units * interval end,
    giveBack = function(at, now, units)
      local earlier = at - min(units, most) * interval
      return earlier > floor(now / step) * perStep and earlier or 0
    end,
    free = function(at, now)
      return floor((tolerance - max(at - floor(now / step) * perStep, 0)) / interval)
    end,
    fresh = function(at) return ceil(at / perStep) * step end,
    encode = function(at)
      local steps = floor(at / perStep)
      return encodeTime(steps * step, at - steps * perStep)
    end,
    decode = function(text)
      local millisecond, ticks = decodeTime(text)
      if not millisecond or millisecond % step ~= 0 or ticks >= perStep then return nil end
      local at = millisecond / step * perStep + ticks
      return at <= SAFE and at or nil
    end,
  }
end
accountings.ticks = accountings.steps

-- Two windows, of which the one before fades.
function accountings.counter(limit, period)
  local initial, exact = { 0, 0, 0 }, floor(SAFE / period)
  local function at(state, now)
    local window = floor(now / period)
    if window <= state[1] then return state[1], state[2], state[3] end
    return window, window == state[1] + 1 and state[3] or 0, 0
  end
  local function roomAt(window, previous, room)
    if previous <= room then return window * period end
    return (window + 1) * period - floor(room * period / previous)
  end
  return {
    capacity = limit, most = mostUnits(limit, exact), initial = initial,
    add = function(state, now, units)
      local window, previous, current = at(state, now)
      return { window, previous, current + units }
    end,
    giveBack = function(state, now, units)
      local window, previous, current = state[1], state[2], state[3]
      local age = floor(now / period) - window
      if age > 1 then return initial end
      if units < current then return { window, previous, current - units } end
      local older = age == 1 and 0 or previous - (units - current)
      return older > 0 and { window - 1, 0, older } or initial
    end,
    free = function(state, now)
      local window, previous, current = at(state, now)
      local elapsed = now - window * period
      local left = elapsed > 0 and period - elapsed or period
      return limit - ceil(previous * left / period) - current
    end,
    fresh = function(state)
      local window, previous, current = state[1], state[2], state[3]
      return max(0, current <= 0 and roomAt(window, previous, 0) or roomAt(window + 1, current, 0))
    end,
    encode = function(state) return format('c1 %d %d %d', state[1], state[2], state[3]) end,
    decode = function(text)
      local numbers = numbersAfter('c1', text, 3)
      if not numbers or #numbers ~= 3 or numbers[2] > exact or numbers[3] > exact then return nil end
      if numbers[3] > 0 then return numbers end
      return numbers[1] == 0 and numbers[2] == 0 and initial or nil
    end,
  }
end

-- Windows in a row, or opened by a call if the shift is below 0.
function accountings.window(limit, period, shift)
  local initial, isOpened, offset = { -1 / 0, 0 }, shift < 0, (period - shift) % period
  local last = isOpened and LAST_INSTANT or floor((LAST_INSTANT + offset) / period)
  local function current(now, place)
    if isOpened then return now < place + period and place or now end
    return max(floor((now + offset) / period), place)
  end
  local function used(use, now) return current(now, use[1]) == use[1] and use[2] or 0 end
  return {
    capacity = limit, most = mostUnits(limit, SAFE), initial = initial,
    add = function(use, now, units) return { current(now, use[1]), used(use, now) + units } end,
    giveBack = function(use, now, units)
      local left = used(use, now) - units
      return left > 0 and { use[1], left } or initial
    end,
    free = function(use, now) return limit - used(use, now) end,
    fresh = function(use)
      if use[2] == 0 then return 0 end
      return isOpened and use[1] + period or (use[1] + 1) * period - offset
    end,
    encode = function(use)
      return use[2] == 0 and 'f1' or format('f1 %d %d', use[1], use[2])
    end,
    decode = function(text)
      if text == 'f1' then return initial end
      local numbers = numbersAfter('f1', text, 2)
      if not numbers or #numbers ~= 2 or numbers[1] > last then return nil end
      return numbers[2] >= 1 and numbers or nil
    end,
  }
end

local transitionOf

-- The transition of an accounting: units are taken if they are free, or in any case.
local function taking(own, charges)
  local debt = own.most - own.capacity
  function own.take(state, now, cost)
    if cost == 0 then return state end
    if cost < 0 then return own.giveBack(state, now, -cost) end
    local free = own.free(state, now)
    if charges then
      local units = min(cost, debt + free)
      return units > 0 and own.add(state, now, units) or state
    end
    return cost <= free and own.add(state, now, cost) or state
  end
  local ahead = own.ahead or own.capacity
  local function full(now) return own.add(own.initial, now, max(1, min(own.capacity, ahead))) end
  local function furthest(now) return own.add(own.initial, now, max(1, ahead)) end
  local ends = own.fresh(furthest(0))
  own.longest = max(ends, own.fresh(furthest(ends)) - ends)
  function own.isAhead(state, now, by)
    return own.fresh(state) - now > max(own.longest, own.fresh(furthest(now)) - now) + by
  end
  function own.bounded(state, now)
    return own.isAhead(state, now, MOST_AHEAD) and full(now) or state
  end
  return own
end

local function all(formula, charges)
  local parts, initial = {}, {}
  for index = 2, #formula do parts[index - 1] = transitionOf(formula[index], charges) end
  local longest = 0
  for index, part in ipairs(parts) do
    initial[index] = part.initial
    longest = max(longest, part.longest)
  end
  local function freshOr(states)
    for index = 1, #parts do if states[index] ~= initial[index] then return states end end
    return initial
  end
  return {
    initial = initial,
    longest = longest,
    isAhead = function(states, now, by)
      for index, part in ipairs(parts) do
        if part.isAhead(states[index], now, by) then return true end
      end
      return false
    end,
    bounded = function(states, now)
      local bounds = {}
      for index, part in ipairs(parts) do bounds[index] = part.bounded(states[index], now) end
      return bounds
    end,
    take = function(states, now, cost)
      if cost == 0 then return states end
      local nexts, isChanged = {}, false
      for index, part in ipairs(parts) do
        local taken = part.take(states[index], now, cost)
        if taken ~= states[index] then isChanged = true
        elseif cost > 0 and not charges then return states end
        nexts[index] = taken
      end
      return isChanged and freshOr(nexts) or states
    end,
    fresh = function(states)
      local last = 0
      for index, part in ipairs(parts) do last = max(last, part.fresh(states[index])) end
      return last
    end,
    encode = function(states)
      local text = 'a1'
      for index, part in ipairs(parts) do
        local own = part.encode(states[index])
        text = text .. ' ' .. #own .. ':' .. own
      end
      return text
    end,
    decode = function(text)
      if sub(text, 1, 2) ~= 'a1' then return nil end
      local states, at = {}, 3
      for index, part in ipairs(parts) do
        local _, colon, word = find(text, '^ (%d+):', at)
        local size = word and countOf(word)
        if not size or colon + size > #text then return nil end
        states[index] = part.decode(sub(text, colon + 1, colon + size))
        if states[index] == nil then return nil end
        at = colon + size + 1
      end
      return at == #text + 1 and freshOr(states) or nil
    end,
  }
end

function transitionOf(formula, charges)
  local name = formula[1]
  if name == 'charge' then return transitionOf(formula[2], true) end
  if name == 'all' then return all(formula, charges) end
  return taking(accountings[name](formula[2], formula[3], formula[4], formula[5], formula[6]), charges)
end

-- Steps in their order: see words.ts.
local transitions = {}
for index, formula in ipairs(steps[1]) do transitions[index - 1] = transitionOf(formula, false) end
-- By key: its state once it was read, whose state it is once it was replaced, how long it is kept, and
-- whether it is in debt.
local states, owners, lifetimes, owes = {}, {}, {}, {}
local instant, isOwn = now, isBounded

local function put(key, transition, state, before)
  local fresh = transition.fresh(state)
  lifetimes[key] = lifetimeOf(before and transition.fresh(before), fresh, instant)
  states[key], owners[key] = state, transition
  owes[key] = isOwn and fresh - instant > transition.longest and transition.isAhead(state, instant, MOST_AHEAD)
end

local function current(key, transition)
  local state = states[key]
  if state == nil then
    if lifetimes[key] then return transition.initial end
    local text = texts[key + 1]
    state = text and transition.decode(text)
    if text and not state and sub(text, -2) == DEBT then
      state = transition.decode(sub(text, 1, -3))
      owes[key] = state ~= nil
    end
    if not state then return transition.initial end
    states[key] = state
  end
  if isOwn and not owes[key] and transition.fresh(state) - now > transition.longest
    and transition.isAhead(state, now, MOST_AHEAD) then
    state = transition.bounded(state, now)
    put(key, transition, state)
  end
  return state
end

local function replace(key, transition, state)
  put(key, transition, state, not lifetimes[key] and states[key] or nil)
end

local function takeTimes(key, transition, cost, times)
  local held = current(key, transition)
  local state = held
  for _ = 1, times do
    local next = transition.take(state, instant, cost)
    if next == state then break end
    state = next
  end
  if state ~= held then replace(key, transition, state) end
end

local function takeEach(at, last)
  local nexts = {}
  for index = at, last, 4 do
    local transition = transitions[steps[index + 1]]
    local held = current(steps[index], transition)
    local next = transition.take(held, instant, steps[index + 2])
    if next == held and steps[index + 2] > 0 then return end
    nexts[index] = next
  end
  for index = at, last, 4 do
    local key, transition = steps[index], transitions[steps[index + 1]]
    if steps[index + 3] == 0 and nexts[index] ~= current(key, transition) then
      replace(key, transition, nexts[index])
    end
  end
end

local TAKE, FORGET, SET_INSTANT = 0, 1, 2
local at = 2
while at <= #steps do
  local word = steps[at]
  if word == TAKE then
    takeTimes(steps[at + 1], transitions[steps[at + 2]], steps[at + 3], steps[at + 4])
    at = at + 5
  elseif word == FORGET then
    local key = steps[at + 1]
    states[key], owners[key], lifetimes[key], owes[key] = nil, nil, '', nil
    at = at + 2
  elseif word == SET_INSTANT then
    local given = steps[at + 1] >= 0
    instant, isOwn = given and steps[at + 1] or now, isBounded and not given
    at = at + 2
  else
    local last = at + 1 + steps[at + 1] * 4
    takeEach(at + 2, last)
    at = last + 1
  end
end

for key = 0, count - 1 do
  local lifetime = lifetimes[key]
  if lifetime then
    local owner, text = owners[key], nil
    if owner and states[key] ~= owner.initial then text = owner.encode(states[key]) .. (owes[key] and DEBT or '') end
    if text ~= (texts[key + 1] or nil) then write(key + 1, text, lifetime) end
  end
end
return reply
`.trim();

/** Its name on a server that has seen it: the SHA-1 of its text. */
export const STATE_TRANSITIONS_SHA = "6dd01dd1d87f66c906027bb7309121376b8faf19";
