import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { PASSWORD } from './app.ts'
import type { Console } from './console.ts'
import { waitUntilLoaded } from './console-browser.ts'

export type PasswordOperator = { name: string; codes: string[] }

/** Sets up an operator with a password. Each of the recovery codes signs them in once. */
export async function addPasswordOperator(
  { linkFor, ask }: Console,
  name: string,
): Promise<PasswordOperator> {
  const token = (await linkFor(name)).split('=').at(-1)
  const { secret, sealed } = (await ask('login/link', { token })).response.totp
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
  const choice = { token, password: PASSWORD, code, sealed }
  return { name, codes: (await ask('login/set-up', choice)).response.recoveryCodes }
}

/** Fills in the sign-in form, on the login page or over a screen. */
export async function signInAs(page: Page, { name, codes }: PasswordOperator) {
  await page.getByLabel('Name').last().fill(name)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByLabel('Code').fill(codes.pop() ?? '')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Opens a screen, and signs in first. */
export async function openSignedIn(page: Page, operator: PasswordOperator, path: string) {
  await page.goto(`/console/${path}`)
  await signInAs(page, operator)
  await page.getByRole('link', { name: operator.name }).first().waitFor({ state: 'attached' })
  await waitUntilLoaded(page)
}
