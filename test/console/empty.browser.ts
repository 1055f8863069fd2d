import { expect } from 'bun:test'
import { browserTest, useConsole } from '../support/console.ts'
import { waitUntilLoaded } from '../support/console-browser.ts'

const world = useConsole({ args: [] })

/** The texts that each empty screen offers to copy. Commands have the executable's full path. */
const SCREENS: [path: string, texts: (RegExp | string)[]][] = [
  ['events', ['/api/webhooks/billing/v1', 'WEBHOOK_TOKEN=$(openssl rand -hex 32)']],
  ['purchases', ['/api/webhooks/billing/v1']],
  ['webhooks', [/^\/\S+\/homeport webhooks add https:/]],
  ['backups', [/^\/\S+\/homeport backup$/, 'BACKUP_SCHEDULE=15 2 * * *']],
  ['api-keys', [/^\/\S+\/homeport api-keys create my-server --scope users:read/]],
  ['metrics', ['/metrics']],
  ['files', ['/api/user/attachments/v1']],
  ['usage', ['/api/server/usage/v1']],
]

browserTest('empty screens explain their purpose, and offer texts to copy', async () => {
  const { page, context, faults } = await world.open({ viewport: { width: 375, height: 700 } })
  for (const [path, texts] of SCREENS) {
    await page.goto(`/console/${path}`)
    await waitUntilLoaded(page)
    const empty = page.locator('.empty').first()
    await empty.waitFor()
    expect(await empty.getByRole('button', { name: /^Copy/ }).count()).toBe(texts.length)
    const offered = await empty.locator('code').allTextContents()
    for (const [at, text] of texts.entries())
      expect([path, offered[at]]).toEqual([
        path,
        typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text),
      ])
    const isTooWide = 'document.documentElement.scrollWidth > innerWidth'
    expect([path, await page.evaluate<boolean>(isTooWide)]).toEqual([path, false])
  }
  expect(faults).toEqual([])
  await context.close()
})
