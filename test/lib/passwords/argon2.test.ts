import { expect, test } from 'bun:test'
import { loadArgon2 } from '../../../src/lib/passwords/argon2.ts'

const COST = { memoryCost: 1_024, timeCost: 2 }
const BUN = { algorithm: 'argon2id', ...COST } as const

test("the addon and Bun verify each other's hashes", async () => {
  const argon2 = await loadArgon2(COST, (reason) => expect(reason).toBeNull())
  const hash = await argon2.hash('correct horse battery')
  expect(hash).toStartWith('$argon2id$v=19$m=1024,t=2,p=1$')
  for (const [password, matches] of [
    ['correct horse battery', true],
    ['Correct horse battery', false],
  ] as const) {
    expect(await Bun.password.verify(password, hash)).toBe(matches)
    const other = await Bun.password.hash('correct horse battery', BUN)
    expect(await argon2.verify(other, password)).toBe(matches)
  }
})
