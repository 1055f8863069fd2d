import { test } from 'bun:test'
import { fault } from '../../support/fault.ts'
import { killEmitters } from './support/kills.ts'

const KILLS = 200

test(`${KILLS} kills lose no event of a committed change ${fault('1a')}`, async () => {
  const { acknowledged, repeated } = await killEmitters(KILLS)
  console.log(`1a: ${acknowledged} events over ${KILLS} kills, all arrived, ${repeated} repeatedly`)
}, 600_000)
