import { expect, test } from 'bun:test'
import { isExposed } from '../../../src/lib/files/file-exposure.ts'

const uid = process.geteuid?.() ?? 0
const gid = process.getegid?.() ?? 0
const FOREIGN = 54_321

test.each([0o600, 0o400, 0o440, 0o640, 0o660, 0o444])(
  'accepts a secret with mode %o owned by our user and group',
  (mode) => {
    expect(isExposed({ mode, uid, gid }, 0o077)).toBe(false)
  },
)

test('accepts a read-only secret owned by our user', () => {
  expect(isExposed({ mode: 0o444, uid, gid: FOREIGN }, 0o077)).toBe(false)
})

test.each([0o440, 0o640, 0o660, 0o444])(
  'accepts a secret with mode %o owned by our group',
  (mode) => {
    expect(isExposed({ mode, uid: FOREIGN, gid }, 0o077)).toBe(false)
  },
)

test.each([0o604, 0o644, 0o664, 0o446, 0o445, 0o666])(
  'refuses a secret with mode %o that others can read',
  (mode) => {
    expect(isExposed({ mode, uid, gid }, 0o077)).toBe(true)
  },
)

test('refuses a secret that another group or everyone else can read', () => {
  expect(isExposed({ mode: 0o640, uid, gid: FOREIGN }, 0o077)).toBe(true)
  expect(isExposed({ mode: 0o444, uid: FOREIGN, gid: FOREIGN }, 0o077)).toBe(true)
})
