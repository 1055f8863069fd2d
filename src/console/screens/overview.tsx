import type { ComponentChildren } from 'preact'
import { DAY_MS } from '../../lib/durations.ts'
import type { Overview as OverviewReply } from '../../usecases/admin/health.ts'
import type { Json } from '../api.ts'
import { bytes, number, plural, upTo1000, words } from '../format.ts'
import { linkTo } from '../router.ts'
import { Badge, Card, List, TimeAgo, Title, type Tone } from '../ui/parts.tsx'
import { Loaded, Loading, useRemote } from '../ui/remote.tsx'
import { SetupChecklist, useSetup } from './setup-checklist.tsx'

type Overview = Json<OverviewReply>

const STATES: Record<string, [word: string, tone: Tone]> = {
  ok: ['working', 'good'],
  off: ['off', 'plain'],
  stale: ['stale', 'warn'],
  failing: ['failing', 'bad'],
}

/** The health of the service. */
export function OverviewScreen() {
  const overview = useRemote<Overview>('overview')
  const setup = useSetup()
  return (
    <>
      <Title>Overview</Title>
      <Loaded from={overview}>
        {(data) => (setup.isSettled ? <Health overview={data} setup={setup} /> : <Loading />)}
      </Loaded>
    </>
  )
}

type HealthProps = { overview: Overview; setup: ReturnType<typeof useSetup> }

function Health({ overview, setup }: HealthProps) {
  const { version, instance, jobs } = overview
  const { instance: _name, ...components } = overview.ready
  return (
    <>
      <Summary overview={overview} />
      <SetupChecklist overview={overview} setup={setup} />
      <Tiles overview={overview} />
      <Card title="Components">
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
      <Card title="Scheduled jobs">
        <Jobs jobs={jobs.filter(({ error }) => error !== null)} />
        <details>
          <summary>All {plural(jobs.length, 'job')}</summary>
          <Jobs jobs={jobs} />
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
      {failing.length > 0 && `Not working: ${failing.map(words).join(', ')}. `}
      {warnings.length > 0 && `Needs attention: ${warnings.join(', ')}.`}
      {tone === 'good' && 'All systems operational.'}
    </p>
  )
}

/** Problems that do not stop the service. */
function warningsIn({ events, mails, backup, rates, jobs, webhooks }: Overview): string[] {
  const areRatesOld = Date.now() - Date.parse(rates.updatedAt) > 4 * DAY_MS
  const failed = upTo1000(events.failed)
  const warnings: [applies: boolean, text: string][] = [
    [events.failed > 0, `${failed} failed billing ${events.failed === 1 ? 'event' : 'events'}`],
    [webhooks.failed > 0, `${plural(webhooks.failed, 'webhook endpoint')} disabled`],
    [!events.isConfigured, 'billing events are rejected'],
    [!backup.latest, 'no backup yet'],
    [!mails.isConfigured, 'e-mails are not sent'],
    [areRatesOld, 'currency rates are out of date'],
    [jobs.some(({ error }) => error !== null), 'a scheduled job failed'],
  ]
  return warnings.flatMap(([applies, text]) => (applies ? [text] : []))
}

function Tiles({ overview }: { overview: Overview }) {
  const { traffic, events, rates, disk, database, mails, backup } = overview
  const minutes = traffic.minutes
  const isFailing = overview.ready.backup === 'failing'
  const isBackupOld = !backup.latest || Date.now() - Date.parse(backup.latest.at) > 2 * DAY_MS
  const scheduleNote = backup.schedule ? 'Automatic' : 'Set BACKUP_SCHEDULE for automatic backups'
  return (
    <div class="tiles">
      <Tile
        to={linkTo('metrics')}
        name={`Requests in the last ${minutes} minutes`}
        value={number(traffic.requests)}
        tone={traffic.errors > 0 ? 'bad' : 'good'}
        note={traffic.errors === 0 ? 'None failed' : `${number(traffic.errors)} failed`}
      />
      <Tile
        to={linkTo('events')}
        name={`Billing events in the last ${minutes} minutes`}
        value={number(traffic.events)}
        note={
          events.isConfigured ? (
            <LatestEvent at={events.latestAt} />
          ) : (
            'Rejected until you set WEBHOOK_TOKEN'
          )
        }
      />
      <Tile
        to={linkTo('events', { outcome: 'failed' })}
        name="Failed events"
        value={upTo1000(events.failed)}
        tone={events.failed > 0 ? 'bad' : 'good'}
        note={events.failed > 0 ? 'View' : 'None'}
      />
      <Tile
        to={linkTo('events', { conflicting: 'true' })}
        name="Conflicting events"
        value={upTo1000(events.conflicting)}
        note={`Events with implausible timestamps: ${upTo1000(events.clockIsOff)}`}
      />
      <Tile
        to={linkTo('rates')}
        name="Currency rates"
        value={<TimeAgo at={rates.updatedAt} />}
        note={rates.isRefreshed ? 'Refreshed daily' : 'Automatic refresh is off'}
      />
      <Tile
        to={linkTo('files')}
        name="Free disk space"
        value={bytes(disk.freeBytes)}
        tone={disk.freeBytes < disk.minFreeBytes * 2 ? 'bad' : 'plain'}
        note={
          disk.minFreeBytes === 0
            ? 'Uploads are not limited'
            : `Uploads stop below ${bytes(disk.minFreeBytes)}`
        }
      />
      <Tile
        to={linkTo('metrics')}
        name="Database"
        value={bytes(database.bytes)}
        note={database.place.split('/').at(-1)}
      />
      <Tile
        to={linkTo('live')}
        name="Queued e-mails"
        value={upTo1000(mails.waiting)}
        tone={mails.isConfigured ? 'plain' : 'warn'}
        note={mails.isConfigured ? 'Sent over SMTP' : 'Written to files until you set SMTP_URL'}
      />
      <Tile
        to={linkTo('backups')}
        name="Last backup"
        value={<TimeAgo at={backup.latest?.at ?? null} />}
        tone={isFailing ? 'bad' : isBackupOld ? 'warn' : 'good'}
        note={isFailing ? 'Automatic backups are failing' : scheduleNote}
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

function LatestEvent({ at }: { at: string | null }) {
  if (at === null) return <>None yet</>
  return (
    <>
      Latest <TimeAgo at={at} />
    </>
  )
}

function Jobs({ jobs }: { jobs: Overview['jobs'] }) {
  return (
    <List items={jobs}>
      {({ name, lastAt, error }) => (
        <li key={name}>
          <span>{words(name.replace(/^old /, 'expired '))}</span>
          {error && <span class="bad">{error}</span>}
          <span class="soft">{lastAt ? <TimeAgo at={lastAt} /> : 'Hasn’t run yet'}</span>
        </li>
      )}
    </List>
  )
}
