import type { ComponentChildren } from 'preact'
import { DAY_MS } from '../../../lib/time/durations.ts'
import type { Overview as OverviewReply } from '../../../operations/console/overview.ts'
import type { Steps, TrafficPoint } from '../../../platform/metrics/charts.ts'
import type { Json } from '../../api.ts'
import { bytes, clock, number, upTo1000 } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { PlainTimes, TimeAgo, type Tone } from '../../ui/parts.tsx'
import { type Business, createMoneyFormat, monthName } from '../business/labels.ts'
import { Bars } from '../metrics/bars.tsx'

export type Overview = Json<OverviewReply>
/** The data of the charts; null until it is loaded. */
export type History = { business: Business | null; traffic: Steps<TrafficPoint> | null }
/** The tiles with charts first, each with its current value. */
export function listTiles(
  overview: Overview,
  { business, traffic: history }: History,
): TileProps[] {
  const { traffic, events, rates, disk, database, mails, backup } = overview
  const minutes = traffic.minutes
  const isFailing = overview.ready.backup === 'failing'
  const isBackupOld = !backup.latest || Date.now() - Date.parse(backup.latest.at) > 2 * DAY_MS
  const scheduleNote = backup.schedule ? 'Automatic' : 'Not scheduled'
  return [
    ...(business ? businessTiles(business) : []),
    {
      to: linkTo('metrics'),
      name: `Requests in the last ${minutes} minutes`,
      value: number(traffic.requests),
      tone: traffic.errors > 0 ? 'bad' : 'good',
      note: traffic.errors === 0 ? 'None failed' : `${number(traffic.errors)} failed`,
      chart: trafficBars('Requests and failures', history, ({ requests, errors }) => [
        requests,
        errors,
      ]),
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
      chart: trafficBars('Billing events', history, ({ events }) => [events]),
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
}

/** Tiles that link to their screens. */
export function Tiles({ tiles }: { tiles: TileProps[] }) {
  return (
    <div class="tiles pairs">
      {tiles.map((tile) => (
        <Tile key={tile.name} {...tile} />
      ))}
    </div>
  )
}

/** The current month, beside the twelve before it. */
function businessTiles({ months, before, currency }: Business): TileProps[] {
  const money = createMoneyFormat(currency)
  const [now] = months.slice(-1) as [Business['months'][number]]
  const computeRevenue = ({ paid, refunded }: Pick<typeof now, 'paid' | 'refunded'>) =>
    paid - refunded
  const chart = (
    label: string,
    format: (value: number) => string,
    toBars: (month: typeof now) => number[],
  ) => {
    const steps = months.map((each) => ({ name: monthName(each.month), values: toBars(each) }))
    return <Bars label={label} steps={steps} tones={['', 'bad']} format={format} />
  }
  return [
    {
      to: linkTo('business'),
      name: `Revenue in ${monthName(now.month)}`,
      value: money(computeRevenue(now)),
      note: `${money(computeRevenue(before))} on the same days of the month before`,
      chart: chart('Revenue', money, (month) => [computeRevenue(month)]),
    },
    {
      to: linkTo('business', { figure: 'new' }),
      name: 'New and churned subscriptions',
      value: `+${number(now.new)} −${number(now.churned)}`,
      note: `${number(now.active)} active`,
      chart: chart('New and churned', number, (month) => [month.new, -month.churned]),
    },
  ]
}

/** Rates per minute over the last 24 hours. */
function trafficBars(
  label: string,
  steps: History['traffic'],
  toBars: (point: TrafficPoint) => number[],
) {
  if (steps === null) return null
  const bars = steps.current.map((point, at) => {
    const name = clock(new Date(steps.from + at * steps.stepMs).toISOString())
    return { name, values: point ? toBars(point) : [0] }
  })
  return <Bars label={`${label} per minute`} steps={bars} tones={['', 'bad']} format={number} />
}

type TileProps = {
  to: string
  name: string
  value: ComponentChildren
  tone?: Tone
  note: ComponentChildren
  chart?: ComponentChildren
}

function Tile({ to, name, value, tone = 'plain', note, chart }: TileProps) {
  return (
    <PlainTimes.Provider value={true}>
      <a class="tile" href={to}>
        <span class="soft">{name}</span>
        <strong>{value}</strong>
        {chart}
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
