import { parseArgs } from 'node:util'
import { runStoreSoak } from './soak.ts'

// `bun run soak:stores [--users 2000] [--months 24] [--seed 1] [--kills 24]`: customers of all stores. Exits with 1 if
// anything is wrong.
const { values } = parseArgs({
  options: {
    users: { type: 'string', default: '2000' },
    months: { type: 'string', default: '24' },
    seed: { type: 'string', default: '1' },
    kills: { type: 'string', default: '24' },
  },
})
const [users, months, seed, kills] = [values.users, values.months, values.seed, values.kills].map(
  Number,
)
const outcome = await runStoreSoak(
  { users: users ?? 0, months: months ?? 0, seed: seed ?? 0, kills: kills ?? 0, tick: 600_000 },
  (text) => console.log(text),
)
console.log(outcome)
const { differing, unexpected, losses, unacknowledged, rebuilt } = outcome
const wrong = [...differing, ...unexpected, ...losses]
process.exit(wrong.length + unacknowledged + (rebuilt ?? 1) === 0 ? 0 : 1)
