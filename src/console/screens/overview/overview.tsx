import { DAY_MS, MINUTE_MS } from '../../../lib/time/durations.ts'
import { areRatesOld } from '../../../lib/time/ecb-days.ts'
import type { Steps, TrafficPoint } from '../../../platform/metrics/charts.ts'
import { plural, upTo1000, words } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge, Card, List, TimeAgo, Title, type Tone } from '../../ui/parts.tsx'
import { Loaded, Loading, useRefresh, useRemote } from '../../ui/remote.tsx'
import type { Business } from '../business/labels.ts'
import { type ReadStores, SetupChecklist, useSetup } from './setup-checklist.tsx'
import { type History, listTiles, type Overview, Tiles } from './tiles.tsx'

const STATES: Record<string, [word: string, tone: Tone]> = {
  ok: ['working', 'good'],
  off: ['off', 'plain'],
  stale: ['stale', 'warn'],
  failing: ['failing', 'bad'],
}

const REFRESH_MS = 30_000
/** The charts have longer time steps. */
const HISTORY_REFRESH_MS = 15 * MINUTE_MS

/** The health of the service. */
export function OverviewScreen({ readStores }: { readStores?: ReadStores }) {
  const overview = useRemote<Overview>('overview')
  const setup = useSetup(readStores)
  const business = useRemote<Business>('business')
  const traffic = useRemote<{ steps: Steps<TrafficPoint> }>('metrics?hours=24')
  const isSettled =
    setup.isSettled && [business, traffic].every(({ data, error }) => data ?? error !== null)
  useRefresh(async () => {
    await Promise.all([business.reload(), traffic.reload()])
  }, HISTORY_REFRESH_MS)
  useRefresh(async () => {
    await Promise.all([overview.reload(), setup.reloadStores()])
  }, REFRESH_MS)
  return (
    <>
      <Title>Overview</Title>
      <Loaded from={overview}>
        {(data) =>
          isSettled ? (
            <Health
              overview={data}
              setup={setup}
              business={business.data}
              traffic={traffic.data?.steps ?? null}
            />
          ) : (
            <Loading />
          )
        }
      </Loaded>
    </>
  )
}

type HealthProps = { overview: Overview; setup: ReturnType<typeof useSetup> }

function Health({ overview, setup, ...history }: HealthProps & History) {
  const { version, instance, jobs } = overview
  const tiles = listTiles(overview, history)
  const { instance: _name, ...components } = overview.ready
  return (
    <>
      <Tiles tiles={tiles.filter(({ chart }) => chart)} />
      <Summary overview={overview} setup={setup} />
      <Tiles tiles={tiles.filter(({ chart }) => !chart)} />
      <SetupChecklist overview={overview} setup={setup} />
      <p class="tags" id="components">
        <span class="soft">Components</span>
        {Object.entries(components).map(([name, state]) => {
          const [word, tone] = STATES[state] ?? [state, 'plain' as Tone]
          return (
            <Badge key={name} tone={tone}>
              {words(name)}: {word}
            </Badge>
          )
        })}
      </p>
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
