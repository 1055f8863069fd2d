import { useState } from 'preact/hooks'
import type { Operators } from '../../../features/operators/operators.ts'
import type { Overview } from '../../../operations/console/overview.ts'
import type { Json, ReplyOf } from '../../api.ts'
import { plural } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge, List } from '../../ui/parts.tsx'
import { useRemote } from '../../ui/remote.tsx'

type Step = {
  title: string
  isDone: boolean
  hint: string
  /** The screen of the step. */
  screen?: string
}

/** The part of the stores' state that the overview needs. A fork may leave out the stores. */
type StoresState = { apps: unknown[]; play: { oldestUnacknowledgedAt: string | null } | null }
export type ReadStores = () => Promise<StoresState>

const NO_STORES: StoresState = { apps: [], play: null }
const DISMISSED = 'homeport-checklist-dismissed'

/** The state of the setup, and whether to show the checklist. */
export function useSetup(readStores?: ReadStores) {
  const [isDismissed, setDismissed] = useState(() => localStorage.getItem(DISMISSED) !== null)
  const operators = useRemote<ReplyOf<Operators['accounts']['list']>>('operators')
  const stores = useRemote('stores', readStores ?? (async () => NO_STORES))
  const isSettled = [operators, stores].every(({ data, error }) => data !== null || error !== null)
  const hasStore =
    stores.data !== null && (stores.data.apps.length > 0 || stores.data.play !== null)
  const listSteps = (overview: Json<Overview>) =>
    stepsFor(overview, hasStore, operators.data?.length ?? 0).filter(
      ({ screen }) => readStores || screen !== 'stores',
    )
  return {
    isSettled,
    reloadStores: stores.reload,
    hasStoreError: stores.error !== null,
    unacknowledgedSince: stores.data?.play?.oldestUnacknowledgedAt ?? null,
    listSteps,
    isOpen: (overview: Json<Overview>) =>
      !isDismissed && listSteps(overview).some(({ isDone }) => !isDone),
    dismiss: () => {
      localStorage.setItem(DISMISSED, 'yes')
      setDismissed(true)
    },
  }
}

type ChecklistProps = { overview: Json<Overview>; setup: ReturnType<typeof useSetup> }

/** The steps of a new installation. Shows nothing once all are done, or after it is dismissed. */
export function SetupChecklist({ overview, setup }: ChecklistProps) {
  if (!setup.isOpen(overview)) return null
  const steps = setup.listSteps(overview)
  const open = steps.filter(({ isDone }) => !isDone)
  return (
    <section class="notice" aria-labelledby="setup">
      <details>
        <summary id="setup">
          Finish the setup: {plural(open.length, 'step')} left. Next: {open[0]?.title}
        </summary>
        <List items={steps.toSorted((a, b) => Number(a.isDone) - Number(b.isDone))}>
          {({ title, hint, screen, isDone }) => (
            <li key={title}>
              {screen ? <a href={linkTo(screen)}>{title}</a> : <span>{title}</span>}
              {isDone && <Badge tone="good">done</Badge>}
              {!isDone && <span class="wide soft">{hint}</span>}
            </li>
          )}
        </List>
      </details>
      <button type="button" class="quiet" onClick={setup.dismiss}>
        Dismiss
      </button>
    </section>
  )
}

function stepsFor(overview: Json<Overview>, hasStore: boolean, operators: number): Step[] {
  const { mails, events, backup, examples } = overview
  return [
    {
      title: 'Send e-mails',
      isDone: mails.isConfigured,
      hint: 'Set SMTP_URL, such as smtp://user:password@mail.example.com:587, and MAIL_FROM. Until then, e-mails are only written to files.',
      screen: 'emails',
    },
    {
      title: 'Connect a store or a billing provider',
      isDone: hasStore || events.latestAt !== null,
      hint: 'Set up the App Store, Google Play or RevenueCat.',
      screen: 'stores',
    },
    {
      title: 'Set a webhook token',
      // The stores sign their notifications, so a token is needed for a billing provider only.
      isDone: events.isConfigured || hasStore,
      hint: 'Set WEBHOOK_TOKEN, such as the output of "openssl rand -hex 32". Until then, events from the billing provider are rejected.',
      screen: 'events',
    },
    {
      title: 'Schedule backups',
      isDone: backup.schedule !== null,
      hint: 'Set BACKUP_SCHEDULE, such as "15 2 * * *" for every night.',
      screen: 'backups',
    },
    {
      title: 'Replace the example texts and plans',
      isDone: examples.length === 0,
      hint: examples.join(' '),
      screen: examples[0]?.includes('settings') ? 'settings' : 'plans',
    },
    {
      title: 'Invite a second operator',
      isDone: operators > 1,
      hint: 'If you lose your passkey, they can let you in again.',
      screen: 'operators',
    },
  ]
}
