import { expect, test } from 'bun:test'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'
import { setUpAlerts } from './support/set-up.ts'

const MINUTE = 60_000
const TO = 'ops@example.com'

test('an alert is sent once, after its condition has held long enough', async () => {
  await using it = await setUpAlerts()
  await it.alerts.set('disk-low', { threshold: 1e12 })
  expect(await it.advance(10)).toEqual([])
  expect(await it.advance(1)).toEqual([expect.stringMatching(/^The disk is almost full \(\d/)])
  expect(await it.advance(30)).toEqual([])
  expect((await it.rule('disk-low'))?.firedAt).toBeString()
})

test('an alert is resolved once, five minutes after its condition ends', async () => {
  await using it = await setUpAlerts()
  await it.advance(1)
  await it.refuseDelivery()
  expect(await it.advance(1)).toEqual([
    "The billing provider's deliveries are refused (1 in two hours)",
  ])
  expect(await it.advance(118)).toEqual([])
  expect(await it.advance(10)).toEqual(["Resolved: The billing provider's deliveries are refused"])
  expect(await it.advance(30)).toEqual([])
  await it.refuseDelivery()
  expect(await it.advance(1)).toHaveLength(1)
})

test('a clock that was ahead neither prevents an alert nor keeps it from being resolved', async () => {
  const YEAR = 365 * 24 * 60 * MINUTE
  await using it = await setUpAlerts()
  it.app.clock.advance(YEAR)
  await it.alerts.set('disk-low', { threshold: 1e12 })
  expect(await it.advance(3)).toEqual([])
  it.app.clock.advance(-YEAR)
  expect(await it.advance(11)).toEqual([expect.stringMatching(/^The disk is almost full/)])
  it.app.clock.advance(YEAR)
  const { db } = it.app.services
  await db.write(async (tx) => void (await tx.update(db.tables.alerts).set({ threshold: 1 })))
  expect(await it.advance(2)).toEqual([])
  it.app.clock.advance(-YEAR)
  expect(await it.advance(6)).toEqual(['Resolved: The disk is almost full'])
})

test('an alert whose condition ends in time is not sent', async () => {
  await using it = await setUpAlerts()
  await it.alerts.set('disk-low', { threshold: 1e12 })
  await it.advance(8)
  await it.alerts.set('disk-low', { threshold: null })
  expect(await it.advance(20)).toEqual([])
})

test('a rule that is off sends no alert', async () => {
  await using it = await setUpAlerts()
  await it.alerts.set('billing-refused', { isOn: false })
  await it.advance(1)
  await it.refuseDelivery()
  expect(await it.advance(5)).toEqual([])
})

test('concurrent evaluations send one alert', async () => {
  await using it = await setUpAlerts()
  await it.alerts.set('disk-low', { threshold: 1e12 })
  await it.advance(10)
  it.app.clock.advance(MINUTE)
  await Promise.all([it.alerts.evaluate(), it.alerts.evaluate(), it.alerts.evaluate()])
  await it.app.services.users.outbox.flush()
  expect(it.smtp.mails).toHaveLength(1)
})

test('a measurement that fails does not keep the other rules from being measured', async () => {
  await using it = await setUpAlerts()
  const { eventSearch } = it.app.services
  eventSearch.countFailed = () => Promise.reject(new Error('unreadable'))
  await it.advance(1)
  await it.refuseDelivery()
  expect(await it.advance(1)).toHaveLength(1)
})

test('a threshold must be a number, and a rule must exist', async () => {
  await using it = await setUpAlerts()
  await expect(it.alerts.set('disk-low', { threshold: -1 })).rejects.toThrow('invalid')
  await expect(it.alerts.set('unknown', { isOn: true })).rejects.toThrow('no alert rule unknown')
})

test('the console and a command change a rule in the same way', async () => {
  await using it = await setUpAlerts()
  const ann = await signInOperator(it.app)
  const json = { isOn: false, threshold: 5_000 }
  const saved = await ann.ask('POST', 'alerts/rules/disk-low', { json })
  expect(saved.json.response).toEqual(json)
  const { printed } = await runCommand(it.app, 'alerts set', ['disk-low'], {
    on: true,
    threshold: 'default',
  })
  const { threshold } = (await it.rule('disk-low')) ?? {}
  expect(printed).toBe(`disk-low is on, with the threshold ${threshold}.`)
  const { entries } = await ann.read('audit?action=alerts.set')
  expect(entries).toMatchObject([
    { target: 'disk-low', before: json, after: { isOn: true, threshold } },
    { target: 'disk-low', before: { isOn: true, threshold }, after: json },
  ])
})

test('a test alert arrives by e-mail', async () => {
  await using it = await setUpAlerts()
  expect(await it.alerts.sendTest()).toEqual({ isMailed: true })
  await it.app.services.users.outbox.flush()
  expect((await it.smtp.next(TO)).text).toContain('You receive alerts at this address.')
})

test('every rule measures without an error', async () => {
  await using it = await setUpAlerts()
  await it.advance(2)
  expect(it.app.lines.filter((line) => line.includes('could not be measured'))).toEqual([])
})

test('a firing alert whose rule is turned off is resolved', async () => {
  await using it = await setUpAlerts()
  await it.alerts.set('disk-low', { threshold: 1e12 })
  await it.advance(11)
  await it.alerts.set('disk-low', { isOn: false })
  expect(await it.advance(5)).toContain('Resolved: The disk is almost full')
})

test('an alert keeps firing if its rule is saved without a change', async () => {
  await using it = await setUpAlerts()
  await it.alerts.set('disk-low', { threshold: 1e12 })
  await it.advance(11)
  await it.alerts.set('disk-low', { isOn: true, threshold: 1e12 })
  expect(await it.advance(5)).not.toContain('Resolved: The disk is almost full')
})
