import type { ComponentChildren } from 'preact'
import { DAY_MS } from '../../lib/durations.ts'
import { bytes, number, plural, upTo1000, words } from '../format.ts'
import { linkTo } from '../router.ts'
import type { Overview } from '../types.ts'
import { Ago, Badge, Card, Title, type Tone } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

const STATES: Record<string, [word: string, tone: Tone]> = {
  ok: ['works', 'good'],
  off: ['off', 'plain'],
  stale: ['stale', 'warn'],
  failing: ['failing', 'bad'],
}

/** What works and yet wants somebody to look at it. */
function todoIn({ events, mails, backup, rates, timers }: Overview): string[] {
  const areRatesOld = Date.now() - Date.parse(rates.updatedAt) > 4 * DAY_MS
  const points: [isSo: boolean, text: string][] = [
    [
      events.failed > 0,
      `${upTo1000(events.failed)} failed billing ${plural(events.failed, 'event')}`,
    ],
    [!events.isConfigured, 'billing events are refused'],
    [!backup.latest, 'there is no backup'],
    [!mails.isConfigured, 'mails are not sent'],
    [areRatesOld, 'the currency rates are old'],
    [timers.some(({ error }) => error !== null), 'a timer has failed'],
  ]
  return points.flatMap(([isSo, text]) => (isSo ? [text] : []))
}

/** Whether all is well. */
export function OverviewScreen() {
  const overview = useRemote<Overview>('overview')
  return (
    <>
      <Title>Overview</Title>
      <Loaded from={overview}>{(data) => <Health of={data} />}</Loaded>
    </>
  )
}

function Health({ of }: { of: Overview }) {
  const { ready, traffic, events, rates, disk, database, mails, backup } = of
  const parts = Object.entries(ready).filter(([name]) => name !== 'instance')
  const failing = parts.filter(([, state]) => state === 'failing').map(([name]) => name)
  const minutes = traffic.minutes
  const isLow = disk.freeBytes < disk.minFreeBytes * 2
  const todo = todoIn(of)
  const isOld = !backup.latest || Date.now() - Date.parse(backup.latest.at) > 2 * DAY_MS
  return (
    <>
      <p
        class={
          failing.length > 0 ? 'sentence bad' : todo.length > 0 ? 'sentence warn' : 'sentence good'
        }
      >
        {failing.length === 0 ? 'Every part works' : `Not working: ${failing.join(', ')}`}
        {todo.length === 0 ? '.' : `. To look at: ${todo.join(', ')}.`}
      </p>
      <div class="tiles">
        <Tile to={linkTo('metrics')} name={`Requests in ${minutes} minutes`}>
          <strong>{number(traffic.requests)}</strong>
          <Note tone={traffic.errors > 0 ? 'bad' : 'good'}>{traffic.errors} failed</Note>
        </Tile>
        <Tile to={linkTo('events')} name={`Billing events in ${minutes} minutes`}>
          <strong>{number(traffic.events)}</strong>
          <span class="soft">
            {events.isConfigured ? (
              <>
                the last one <Ago at={events.latestAt} />
              </>
            ) : (
              'WEBHOOK_TOKEN is not set: all are refused'
            )}
          </span>
        </Tile>
        <Tile to={linkTo('events', { outcome: 'failed' })} name="Events that failed">
          <strong>{upTo1000(events.failed)}</strong>
          <Note tone={events.failed > 0 ? 'bad' : 'good'}>
            {events.failed > 0 ? 'look at them' : 'none'}
          </Note>
        </Tile>
        <Tile to={linkTo('events', { conflicting: 'true' })} name="Events that conflict">
          <strong>{upTo1000(events.conflicting)}</strong>
          <span class="soft">{upTo1000(events.clockIsOff)} with a clock that is off</span>
        </Tile>
        <Tile to={linkTo('rates')} name="Currency rates">
          <strong>
            <Ago at={rates.updatedAt} />
          </strong>
          <span class="soft">{rates.isRefreshed ? 'refreshed daily' : 'not refreshed'}</span>
        </Tile>
        <Tile to={linkTo('files')} name="Free space">
          <strong>{bytes(disk.freeBytes)}</strong>
          <Note tone={isLow ? 'bad' : 'plain'}>uploads stop below {bytes(disk.minFreeBytes)}</Note>
        </Tile>
        <Tile to={linkTo('metrics')} name="Database">
          <strong>{bytes(database.bytes)}</strong>
          <span class="soft">{database.place.split('/').at(-1)}</span>
        </Tile>
        <Tile to={linkTo('live')} name="Mails that wait">
          <strong>{upTo1000(mails.waiting)}</strong>
          <Note tone={mails.isConfigured ? 'plain' : 'warn'}>
            {mails.isConfigured ? 'sent by SMTP' : 'SMTP_URL is not set: written to files'}
          </Note>
        </Tile>
        <Tile to={linkTo('backups')} name="Last backup">
          <strong>{backup.latest ? <Ago at={backup.latest.at} /> : 'never'}</strong>
          <Note tone={ready.backup === 'failing' ? 'bad' : isOld ? 'warn' : 'good'}>
            {ready.backup === 'failing'
              ? 'BACKUP_SCHEDULE is failing'
              : backup.schedule
                ? 'made by itself'
                : 'BACKUP_SCHEDULE is not set'}
          </Note>
        </Tile>
      </div>
      <Card title="Parts">
        <ul class="list">
          {parts.map(([name, state]) => {
            const [word, tone] = STATES[state] ?? [state, 'plain' as Tone]
            return (
              <li key={name}>
                <span>{words(name)}</span>
                <Badge tone={tone}>{word}</Badge>
              </li>
            )
          })}
        </ul>
      </Card>
      <Card title="Timers">
        <Timers of={of.timers.filter(({ error }) => error !== null)} />
        <details>
          <summary>All {of.timers.length} timers</summary>
          <Timers of={of.timers} />
        </details>
      </Card>
      <p class="soft">
        Homeport {of.version}
        {of.instance ? `, instance ${of.instance}` : ''}
      </p>
    </>
  )
}

function Timers({ of }: { of: Overview['timers'] }) {
  return (
    <ul class="list">
      {of.map(({ name, lastAt, error }) => (
        <li key={name}>
          <span>{name}</span>
          {error && <span class="bad">{error}</span>}
          <span class="soft">{lastAt ? <Ago at={lastAt} /> : 'not yet'}</span>
        </li>
      ))}
    </ul>
  )
}

function Tile({ to, name, children }: { to: string; name: string; children: ComponentChildren }) {
  return (
    <a class="tile" href={to}>
      <span class="soft">{name}</span>
      {children}
    </a>
  )
}

function Note({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={tone === 'plain' ? 'soft' : tone}>{children}</span>
}
