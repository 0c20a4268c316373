-- One member renews, changes or gives back its lease of places.
--
-- KEYS[1]  a hash with a field for each member, and ":" for the clock
-- ARGV     1 member   2 number of the request, counting up in each member
--          3 places that the member may be using   4 places wanted, -1 when leaving
--          5 places to share   6 length of a lease in ms
-- returns  {places leased, places to go to, members, 1 if new places are given out}
--          or {-1} if a later request of this member was here first
--
-- The sum of all leases is never more than the pool, and a lease is never less
-- than what its member said it may be using: so a member gives places back first
-- and says so then, and uses new ones only when it has read of them.

local key, id = KEYS[1], ARGV[1]
local seq, held, want = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local pool, lease = tonumber(ARGV[5]), tonumber(ARGV[6])

local time = redis.call('TIME')
local wall = time[1] * 1000 + math.floor(time[2] / 1000)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')

local members, clock = {}, nil
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  if all[i] == ':' then
    clock = all[i + 1]
  else
    local s, e, p, w, l = string.match(all[i + 1], '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    members[all[i]] = {seq = tonumber(s), ends = tonumber(e), places = tonumber(p), want = tonumber(w), pool = tonumber(l)}
  end
end

-- Leases end by a clock of their own, which passes no faster than the store's and
-- never jumps: a step of the time of day must not end a lease that its member
-- still counts on. Between two requests of a fleet that is alive there is less than
-- a sixteenth of a lease.
--
-- Another process of the store, or none of the data, means that leases may be out
-- of which nothing is known here: nothing new is given out until they have ended.
-- Members say what they hold with each request, and keep that.
local now, opens = 0, lease
if clock then
  local w, n, o, r = string.match(clock, '^(%d+) (%d+) (%d+) (%w+)$')
  now = tonumber(n) + math.min(math.max(wall - tonumber(w), 0), math.floor(lease / 16))
  opens = r == run and tonumber(o) or now + lease
end

for other, m in pairs(members) do
  if m.ends <= now then
    redis.call('HDEL', key, other)
    members[other] = nil
  end
end

local was = members[id]
if was and seq <= was.seq then
  return {-1}
end
members[id] = nil
local leased, count = 0, 0
for _, m in pairs(members) do
  leased = leased + m.places
  pool = math.min(pool, m.pool)
  count = count + 1
end
redis.call('HSET', key, ':', string.format('%.0f %.0f %.0f %s', wall, now, opens, run))
redis.call('PEXPIRE', key, 10 * lease)

local function record(places)
  redis.call('HSET', key, id, string.format('%.0f %.0f %.0f %.0f %s', seq, now + lease, places, math.max(want, 0), ARGV[5]))
end
if want < 0 then
  if held == 0 then
    redis.call('HDEL', key, id)
  else
    record(held)
  end
  return {held, 0, count, 0}
end
members[id] = {want = want}
count = count + 1

-- fair is this member's part by demand. Those who want less than an equal part have
-- what they want, and the others share the rest equally. If all have what they
-- want, what is left is shared equally too, to be there for a burst.
local function fair()
  local order, total = {}, 0
  for name, m in pairs(members) do
    order[#order + 1] = name
    total = total + m.want
  end
  table.sort(order, function(a, b)
    if members[a].want ~= members[b].want then
      return members[a].want < members[b].want
    end
    return a < b
  end)
  local spare, left = math.max(pool - total, 0), math.min(pool, total)
  for k, name in ipairs(order) do
    local part = math.min(members[name].want, math.floor(left / (count - k + 1)))
    if name == id then
      return part + math.floor((spare + k - 1) / count)
    end
    left = left - part
  end
end

local open = opens <= now
local free = pool - leased - held
local target = math.min(fair(), math.max(held + free, 0))
if not open then
  target = math.min(target, held)
end
local places = math.max(held, target)
record(places)
return {places, target, count, open and 1 or 0}
