import { expect, test } from 'bun:test'
import { checkPassword } from '../../../src/lib/passwords/password-rules.ts'

const FAMILY = '👨‍👩‍👧‍👦'
const FEW = 'The password must have 8 characters or more.'

test.each([
  ['an emoji of seven code points', `${FAMILY}123456`, FEW],
  ['one emoji', FAMILY, FEW],
  ['letters with combining accents', 'u\u0308'.repeat(4), FEW],
  ['one emoji, repeated', FAMILY.repeat(8), 'The password must not repeat a single character.'],
  ['the name in another form', 'Grüße an alle', 'The password must not be your address or name.'],
  [
    '257 code points',
    '🔑🚢'.repeat(129).slice(0, 514),
    'The password must have 256 characters or fewer.',
  ],
])('refuses %s', async (_what, password, message) => {
  await expect(check(password)).rejects.toThrow(message)
})

test.each([
  ['eight emoji', '🔑🚢🍎🍐🍊🍋🍌🍉'],
  ['256 code points', '🔑🚢'.repeat(128)],
])('accepts %s', (_what, password) => check(password))

function check(password: string) {
  const name = 'Gru\u0308ße an alle'
  return checkPassword(password, {
    minLength: 8,
    email: 'ann@example.com',
    name,
    field: 'password',
  })
}
