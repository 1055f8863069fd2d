import { beforeAll, expect, test } from 'bun:test'
import { buildExecutable, installExecutable } from '../../support/executable.ts'
import { useThroughKills } from './support/kills.ts'

const KILLS = 200

beforeAll(buildExecutable, 300_000)

test(`${KILLS} kills lose no acknowledged use of a limit and count none twice`, async () => {
  await using homeport = await installExecutable()
  const { made, counted, stored } = await useThroughKills(homeport, KILLS)
  console.log(`${made} uses over ${KILLS} kills`)
  expect(stored).toEqual(counted)
  expect(made).toBe([...stored.values()].reduce((sum, used) => sum + used, 0))
}, 900_000)
