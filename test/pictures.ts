import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { openBrowser, waitUntilLoaded } from './support/console-browser.ts'
import { buildExecutable, installExecutable } from './support/executable.ts'

/** Takes the console screenshots for the README, with demo data, in both colour schemes. */
const FOLDER = join(import.meta.dir, '..', 'docs', 'pictures')
const SIZE = { width: 1200, height: 760 }

await buildExecutable()
await using homeport = await installExecutable()
const server = await homeport.start({}, [], ['serve', '--demo'])
const consoleUrl = `http://localhost:${server.port}/console`
const { stdout } = await homeport.run(['operators', 'add', 'dana', '--json'])
const { link } = JSON.parse(stdout) as { link: string }
await using browser = await openBrowser()
const { page } = await browser.open({ viewport: SIZE, deviceScaleFactor: 1.5 })
await page.goto(`${consoleUrl}${new URL(link).hash}`)
await page.getByRole('button', { name: 'Create a passkey on this device' }).click()
await page.getByRole('heading', { name: 'Overview' }).waitFor()
await page.getByRole('button', { name: 'Dismiss' }).click()
await mkdir(FOLDER, { recursive: true })
for (const scheme of ['light', 'dark'] as const) {
  await page.emulateMedia({ colorScheme: scheme })
  await page.goto(consoleUrl)
  await takeScreenshot(page, 'overview', scheme)
  await page.goto(`${consoleUrl}/people?q=carla`)
  await page.getByRole('link', { name: 'carla@example.com' }).click()
  await page.getByRole('link', { name: 'Subscription' }).click()
  await page.locator('summary').first().click()
  await takeScreenshot(page, 'subscription', scheme)
}
await server.stop()

async function takeScreenshot(page: Page, name: string, scheme: string) {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await waitUntilLoaded(page)
  // Moves the pointer away, so that no hover style is shown.
  await page.mouse.move(0, 0)
  const path = join(FOLDER, `${name}-${scheme}.webp`)
  const { size } = await sharp(await page.screenshot())
    .webp({ quality: 82 })
    .toFile(path)
  console.log(`${name}, ${scheme}: ${Math.round(size / 1000)} kB`)
}
