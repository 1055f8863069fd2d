import type { ComponentChildren } from 'preact'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { areRatesOld } from '../../../lib/time/ecb-days.ts'
import type { Overview as OverviewReply } from '../../../operations/console/overview.ts'
import type { Json } from '../../api.ts'
import { bytes, number, plural, upTo1000, words } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge, Card, List, PlainTimes, TimeAgo, Title, type Tone } from '../../ui/parts.tsx'
import { Loaded, Loading, useRefresh, useRemote } from '../../ui/remote.tsx'
import { type ReadStores, SetupChecklist, useSetup } from './setup-checklist.tsx'

type Overview = Json<OverviewReply>

const STATES: Record<string, [word: string, tone: Tone]> = {
  ok: ['working', 'good'],
  off: ['off', 'plain'],
  stale: ['stale', 'warn'],
  failing: ['failing', 'bad'],
}

const REFRESH_MS = 30_000

/** The health of the service. */
export function OverviewScreen({ readStores }: { readStores?: ReadStores }) {
  const overview = useRemote<Overview>('overview')
  const setup = useSetup(readStores)
  useRefresh(async () => {
    await Promise.all([overview.reload(), setup.reloadStores()])
  }, REFRESH_MS)
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
      <Summary overview={overview} setup={setup} />
      <SetupChecklist overview={overview} setup={setup} />
      <Tiles overview={overview} />
      <Card title="Components" id="components">
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
      <Card title="Scheduled jobs" id="jobs">
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

function Summary({ overview, setup }: HealthProps) {
  const failing = Object.entries(overview.ready).flatMap(([name, state]) =>
    state === 'failing' ? [name] : [],
  )
  const problems: Problem[] = [
    ...failing.map(
      (name): Problem => [
        `${words(name)} is not working`,
        name === 'backup' ? linkTo('backups') : '#components',
        'bad',
      ],
    ),
    ...listWarnings(overview, setup),
  ]
  if (problems.length === 0) return <p class="sentence good">All systems operational.</p>
  const isBad = problems.some(([, , tone]) => tone === 'bad')
  return (
    <section class="stack" aria-labelledby="problems">
      <h2 id="problems" class={`sentence ${isBad ? 'bad' : 'warn'}`}>
        Needs attention
      </h2>
      <List items={problems}>
        {([text, href, tone]) => (
          <li key={text}>
            <a href={href}>{text}</a>
            {tone === 'bad' && <Badge tone="bad">urgent</Badge>}
          </li>
        )}
      </List>
    </section>
  )
}

type Problem = [text: string, href: string, tone?: 'bad' | undefined]

/** Problems that do not stop the service, most urgent first. */
function listWarnings(overview: Overview, setup: HealthProps['setup']): Problem[] {
  const { events, mails, backup, rates, jobs, webhooks } = overview
  // Otherwise the checklist names what is missing.
  const isSetUp = !setup.isOpen(overview)
  const { unacknowledgedSince, hasStoreError } = setup
  const failed = upTo1000(events.failed)
  // Products that unlock nothing come first.
  const [worst] = events.unmatchedProducts
  const unmatched = events.unmatchedProducts
    .filter(({ unlocks }) => unlocks === worst?.unlocks)
    .map(({ productId }) => productId ?? 'unknown')
  const warnings: [applies: boolean, ...Problem][] = [
    [
      events.failed > 0,
      `${failed} failed billing ${events.failed === 1 ? 'event' : 'events'}`,
      linkTo('events', { outcome: 'failed' }),
      'bad',
    ],
    [
      unacknowledgedSince !== null && Date.now() - Date.parse(unacknowledgedSince) > DAY_MS,
      'Google is about to refund unacknowledged purchases',
      linkTo('purchases', { filter: 'unacknowledged' }),
      'bad',
    ],
    [hasStoreError, 'The stores could not be checked', linkTo('stores')],
    [
      webhooks.failed > 0,
      `${plural(webhooks.failed, 'webhook endpoint')} disabled`,
      linkTo('webhooks'),
    ],
    [
      worst !== undefined,
      `Paid products ${worst?.unlocks ? 'without a plan' : 'that unlock nothing'}: ${unmatched.slice(0, 3).join(', ')}`,
      linkTo('plans'),
      worst?.unlocks ? undefined : 'bad',
    ],
    ...overview.plans.warnings.map((text): [boolean, ...Problem] => [true, text, linkTo('plans')]),
    [isSetUp && !events.isConfigured, 'Billing events are rejected', linkTo('events')],
    [!backup.latest && (isSetUp || backup.schedule !== null), 'No backup yet', linkTo('backups')],
    [isSetUp && !mails.isConfigured, 'E-mails are not sent', linkTo('live')],
    [
      rates.updatedAt !== null && areRatesOld(Date.parse(rates.updatedAt), Date.now()),
      'Currency rates are out of date',
      linkTo('rates'),
    ],
    [rates.updatedAt === null, 'There are no currency rates', linkTo('rates')],
    [jobs.some(({ error }) => error !== null), 'A scheduled job failed', '#jobs'],
  ]
  return warnings.flatMap(([applies, ...problem]) => (applies ? [problem] : []))
}

function Tiles({ overview }: { overview: Overview }) {
  const { traffic, events, rates, disk, database, mails, backup } = overview
  const minutes = traffic.minutes
  const isFailing = overview.ready.backup === 'failing'
  const isBackupOld = !backup.latest || Date.now() - Date.parse(backup.latest.at) > 2 * DAY_MS
  const scheduleNote = backup.schedule ? 'Automatic' : 'Not scheduled'
  const tiles: TileProps[] = [
    {
      to: linkTo('metrics'),
      name: `Requests in the last ${minutes} minutes`,
      value: number(traffic.requests),
      tone: traffic.errors > 0 ? 'bad' : 'good',
      note: traffic.errors === 0 ? 'None failed' : `${number(traffic.errors)} failed`,
    },
    {
      to: linkTo('events'),
      name: `Billing events in the last ${minutes} minutes`,
      value: number(traffic.events),
      note: events.isConfigured ? (
        <LatestEvent at={events.latestAt} />
      ) : (
        'Rejected until you set WEBHOOK_TOKEN'
      ),
    },
    {
      to: linkTo('events', { outcome: 'failed' }),
      name: 'Failed events',
      value: upTo1000(events.failed),
      tone: events.failed > 0 ? 'bad' : 'good',
      note: events.failed > 0 ? 'View' : 'None',
    },
    {
      to: linkTo('events', { conflicting: 'true' }),
      name: 'Conflicting events',
      value: upTo1000(events.conflicting),
      note: `Events with implausible timestamps: ${upTo1000(events.clockIsOff)}`,
    },
    {
      to: linkTo('rates'),
      name: 'Currency rates',
      value: <TimeAgo at={rates.updatedAt} />,
      note: rates.isRefreshed ? 'Refreshed daily' : 'Automatic refresh is off',
    },
    {
      to: linkTo('files'),
      name: 'Free disk space',
      value: bytes(disk.freeBytes),
      tone: disk.freeBytes < disk.minFreeBytes * 2 ? 'bad' : 'plain',
      note:
        disk.minFreeBytes === 0
          ? 'No minimum is set for uploads'
          : `Uploads stop below ${bytes(disk.minFreeBytes)}`,
    },
    {
      to: linkTo('metrics'),
      name: 'Database',
      value: bytes(database.bytes),
      note: database.place.split('/').at(-1),
    },
    {
      to: linkTo('live'),
      name: 'Queued e-mails',
      value: upTo1000(mails.waiting),
      tone: mails.isConfigured ? 'plain' : 'warn',
      note: mails.isConfigured ? 'Sent over SMTP' : 'Written to files until you set SMTP_URL',
    },
    {
      to: linkTo('backups'),
      name: 'Last backup',
      value: <TimeAgo at={backup.latest?.at ?? null} />,
      tone: isFailing ? 'bad' : isBackupOld || backup.schedule === null ? 'warn' : 'good',
      note: isFailing ? 'Automatic backups are failing' : scheduleNote,
    },
  ]
  return (
    <div class="tiles pairs">
      {tiles.toSorted(byUrgency).map((tile) => (
        <Tile key={tile.name} {...tile} />
      ))}
    </div>
  )
}

const URGENCY: Record<Tone, number> = { bad: 2, warn: 1, good: 0, plain: 0 }

/** Problems first. */
function byUrgency(a: TileProps, b: TileProps): number {
  return URGENCY[b.tone ?? 'plain'] - URGENCY[a.tone ?? 'plain']
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
    <PlainTimes.Provider value={true}>
      <a class="tile" href={to}>
        <span class="soft">{name}</span>
        <strong>{value}</strong>
        <span class={tone === 'plain' ? 'soft' : tone}>{note}</span>
      </a>
    </PlainTimes.Provider>
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
