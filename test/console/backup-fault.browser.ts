import { afterAll, expect } from 'bun:test'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { browserTest, useConsole } from '../support/console.ts'
import { until } from '../support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'homeport-backup-fault-'))
afterAll(() => rmSync(folder, { recursive: true }))
const old = join(folder, 'homeport-20260101T021500Z.tar')
writeFileSync(old, '')
utimesSync(old, 0, Date.parse('2026-01-01T02:15:00Z') / 1000)

const world = useConsole({
  environment: {
    BACKUP_DIR: folder,
    BACKUP_SCHEDULE: '15 2 * * *',
    BACKUP_KEY: 'age1-is-no-recipient',
  },
})

browserTest('shows failing automatic backups in red', async () => {
  const { page } = await world.open()
  const fault = page.locator('.tile .bad', { hasText: 'Automatic backups are failing' })
  const isShown = async () => {
    await page.goto('/console')
    await page.locator('.tile').first().waitFor()
    return (await fault.count()) === 1
  }
  await until(isShown, 'the console does not show the fault', { deadlineMs: 20_000 })
  expect(await page.locator('.sentence.bad').textContent()).toBe('Needs attention')
  await page.getByRole('link', { name: 'Backup is not working' }).click()
  await page.waitForURL('**/console/backups')
  await page.getByText(`They are stored on this server, in ${folder}:`).waitFor()
  await page.getByRole('button', { name: 'Verify' }).first().click()
  const failed = page.locator('td .badge', { hasText: 'failed' })
  await failed.waitFor()
  await page.reload()
  await failed.waitFor()
})
