import { beforeAll, expect, test } from 'bun:test'
import { buildExecutable, installExecutable } from '../../support/executable.ts'
import { useThroughKills } from './support/kills.ts'

beforeAll(buildExecutable, 300_000)

test('kills lose no acknowledged use of a limit and count none twice', async () => {
  await using homeport = await installExecutable()
  const { made, counted, stored } = await useThroughKills(homeport, 5)
  expect(made).toBeGreaterThan(10)
  expect(stored).toEqual(counted)
})
