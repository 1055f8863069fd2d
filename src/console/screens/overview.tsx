import type { ComponentChildren } from 'preact'
import { DAY_MS } from '../../lib/durations.ts'
import type { Overview as OverviewReply } from '../../usecases/admin/health.ts'
import type { Json } from '../api.ts'
import { bytes, number, upTo1000, words } from '../format.ts'
import { linkTo } from '../router.ts'
import { Badge, Card, List, TimeAgo, Title, type Tone } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type Overview = Json<OverviewReply>

const STATES: Record<string, [word: string, tone: Tone]> = {
  ok: ['works', 'good'],
  off: ['off', 'plain'],
  stale: ['stale', 'warn'],
  failing: ['failing', 'bad'],
}

/** Health at a glance. */
export function OverviewScreen() {
  const overview = useRemote<Overview>('overview')
  return (
    <>
      <Title>Overview</Title>
      <Loaded from={overview}>{(data) => <Health overview={data} />}</Loaded>
    </>
  )
}

function Health({ overview }: { overview: Overview }) {
  const { version, instance, timers } = overview
  const { instance: _name, ...components } = overview.ready
  return (
    <>
      <Summary overview={overview} />
      <Tiles overview={overview} />
      <Card title="Parts">
        <List items={Object.entries(components)}>
          {([name, state]) => {
            const [word, tone] = STATES[state] ?? [state, 'plain' as Tone]
            return (
              <li key={name}>
                <span>{words(name)}</span>
                <Badge tone={tone}>{word}</Badge>
              </li>
            )
          }}
        </List>
      </Card>
      <Card title="Timers">
        <Jobs jobs={timers.filter(({ error }) => error !== null)} />
        <details>
          <summary>All {timers.length} timers</summary>
          <Jobs jobs={timers} />
        </details>
      </Card>
      <p class="soft">
        Homeport {version}
        {instance ? `, instance ${instance}` : ''}
      </p>
    </>
  )
}

function Summary({ overview }: { overview: Overview }) {
  const failing = Object.entries(overview.ready).flatMap(([name, state]) =>
    state === 'failing' ? [name] : [],
  )
  const warnings = warningsIn(overview)
  const tone = failing.length > 0 ? 'bad' : warnings.length > 0 ? 'warn' : 'good'
  return (
    <p class={`sentence ${tone}`}>
      {failing.length === 0 ? 'Every part works' : `Not working: ${failing.join(', ')}`}
      {warnings.length === 0 ? '.' : `. To look at: ${warnings.join(', ')}.`}
    </p>
  )
}

/** What works, but needs attention. */
function warningsIn({ events, mails, backup, rates, timers }: Overview): string[] {
  const areRatesOld = Date.now() - Date.parse(rates.updatedAt) > 4 * DAY_MS
  const failed = upTo1000(events.failed)
  const warnings: [isGiven: boolean, text: string][] = [
    [events.failed > 0, `${failed} failed billing ${events.failed === 1 ? 'event' : 'events'}`],
    [!events.isConfigured, 'billing events are refused'],
    [!backup.latest, 'there is no backup'],
    [!mails.isConfigured, 'mails are not sent'],
    [areRatesOld, 'the currency rates are old'],
    [timers.some(({ error }) => error !== null), 'a timer has failed'],
  ]
  return warnings.flatMap(([isGiven, text]) => (isGiven ? [text] : []))
}

function Tiles({ overview }: { overview: Overview }) {
  const { traffic, events, rates, disk, database, mails, backup } = overview
  const minutes = traffic.minutes
  const isFailing = overview.ready.backup === 'failing'
  const isBackupOld = !backup.latest || Date.now() - Date.parse(backup.latest.at) > 2 * DAY_MS
  const scheduled = backup.schedule ? 'made by itself' : 'BACKUP_SCHEDULE is not set'
  return (
    <div class="tiles">
      <Tile
        to={linkTo('metrics')}
        name={`Requests in ${minutes} minutes`}
        value={number(traffic.requests)}
        tone={traffic.errors > 0 ? 'bad' : 'good'}
        note={`${traffic.errors} failed`}
      />
      <Tile
        to={linkTo('events')}
        name={`Billing events in ${minutes} minutes`}
        value={number(traffic.events)}
        note={
          events.isConfigured ? (
            <>
              the last one <TimeAgo at={events.latestAt} />
            </>
          ) : (
            'WEBHOOK_TOKEN is not set: all are refused'
          )
        }
      />
      <Tile
        to={linkTo('events', { outcome: 'failed' })}
        name="Events that failed"
        value={upTo1000(events.failed)}
        tone={events.failed > 0 ? 'bad' : 'good'}
        note={events.failed > 0 ? 'look at them' : 'none'}
      />
      <Tile
        to={linkTo('events', { conflicting: 'true' })}
        name="Events that conflict"
        value={upTo1000(events.conflicting)}
        note={`${upTo1000(events.clockIsOff)} with a clock that is off`}
      />
      <Tile
        to={linkTo('rates')}
        name="Currency rates"
        value={<TimeAgo at={rates.updatedAt} />}
        note={rates.isRefreshed ? 'refreshed daily' : 'not refreshed'}
      />
      <Tile
        to={linkTo('files')}
        name="Free space"
        value={bytes(disk.freeBytes)}
        tone={disk.freeBytes < disk.minFreeBytes * 2 ? 'bad' : 'plain'}
        note={`uploads stop below ${bytes(disk.minFreeBytes)}`}
      />
      <Tile
        to={linkTo('metrics')}
        name="Database"
        value={bytes(database.bytes)}
        note={database.place.split('/').at(-1)}
      />
      <Tile
        to={linkTo('live')}
        name="Mails that wait"
        value={upTo1000(mails.waiting)}
        tone={mails.isConfigured ? 'plain' : 'warn'}
        note={mails.isConfigured ? 'sent by SMTP' : 'SMTP_URL is not set: written to files'}
      />
      <Tile
        to={linkTo('backups')}
        name="Last backup"
        value={<TimeAgo at={backup.latest?.at ?? null} />}
        tone={isFailing ? 'bad' : isBackupOld ? 'warn' : 'good'}
        note={isFailing ? 'BACKUP_SCHEDULE is failing' : scheduled}
      />
    </div>
  )
}

type TileProps = {
  to: string
  name: string
  value: ComponentChildren
  tone?: Tone
  note: ComponentChildren
}

function Tile({ to, name, value, tone = 'plain', note }: TileProps) {
  return (
    <a class="tile" href={to}>
      <span class="soft">{name}</span>
      <strong>{value}</strong>
      <span class={tone === 'plain' ? 'soft' : tone}>{note}</span>
    </a>
  )
}

function Jobs({ jobs }: { jobs: Overview['timers'] }) {
  return (
    <List items={jobs}>
      {({ name, lastAt, error }) => (
        <li key={name}>
          <span>{name}</span>
          {error && <span class="bad">{error}</span>}
          <span class="soft">{lastAt ? <TimeAgo at={lastAt} /> : 'not yet'}</span>
        </li>
      )}
    </List>
  )
}
