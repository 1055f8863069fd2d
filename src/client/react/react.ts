import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import type { ApiError } from '../api-error.ts'
import type { UploadInput } from '../attachments.ts'
import { randomHex } from '../bytes.ts'
import type { Client } from '../client.ts'
import type { Progress } from '../deadline.ts'
import { confirmed } from '../kept-values.ts'
import type {
  AppSettings,
  Attachment,
  LimitUsage,
  PricingPlan,
  Subscription,
  UserProfile,
} from '../models.ts'
import {
  findStore,
  type Loaded,
  type Resource,
  type SessionState,
  type Store,
  type Value,
} from './store.ts'

export type { Loaded, SessionState } from './store.ts'

export type HomeportProviderProps = {
  client: Client
  /** Whether to keep a connection that reports changes; true by default. On a phone: only in the foreground. */
  live?: boolean | undefined
  children?: ReactNode | undefined
}

/** An upload and its progress. */
export type Upload = {
  /** The stored files of the last upload; undefined until it has succeeded. */
  data: Attachment[] | undefined
  error: ApiError | null
  isLoading: boolean
  /** How much has been sent; null where the platform does not report it, or while no upload is running. */
  progress: Progress | null
  /** Uploads files. Resolves with the stored files, or with null if it failed: see `error`. */
  upload: (input: UploadInput) => Promise<Attachment[] | null>
  /** Sends the last upload again. Files that have already been stored are not stored twice. */
  retry: () => Promise<Attachment[] | null>
  /** Cancels the upload. */
  cancel: () => void
}

const ClientContext = createContext<Client | null>(null)

/** Makes a client available to the hooks. They reload after sign-ins, sign-outs and changes on the server. */
export function HomeportProvider(props: HomeportProviderProps): ReactElement {
  const { client, live = true, children } = props
  useEffect(() => findStore(client).followSession(), [client])
  useEffect(() => (live ? findStore(client).followChanges() : undefined), [client, live])
  return createElement(ClientContext.Provider, { value: client }, children)
}

/** The provider's client. */
export function useClient(): Client {
  const client = useContext(ClientContext)
  if (client === null) throw new Error('Homeport hooks need a HomeportProvider around them.')
  return client
}

/** Who is signed in. A guest is signed in too: `data.user.loginType` is `guest`. */
export function useSession(): Loaded<SessionState> {
  return useResource((store) => store.session)
}

const PROFILE: Value<UserProfile> = {
  read: (client) => client.readKept('profile'),
  kinds: ['profile'],
}

/** The user's profile; null if no user is signed in. */
export function useProfile(): Loaded<UserProfile | null> {
  return useResource((store) => store.find(PROFILE))
}

const SUBSCRIPTION: Value<Subscription> = {
  read: (client) => client.readKept('subscription'),
  kinds: ['subscription'],
  endOf: ({ entitlements }) =>
    Math.min(
      ...entitlements.map(({ active, expiresAt }) =>
        active && expiresAt !== null ? Date.parse(expiresAt) : Infinity,
      ),
    ),
}

/** The user's purchases and entitlements; null if no user is signed in. */
export function useSubscription(): Loaded<Subscription | null> {
  return useResource((store) => store.find(SUBSCRIPTION))
}

const USAGE: Value<LimitUsage[]> = {
  read: async (client) => confirmed(await client.readUsage()),
  kinds: ['subscription'],
}

/** The usage of the plan's limits; null if no user is signed in. Usage is not announced: call `reload` after a use. */
export function useUsage(): Loaded<LimitUsage[] | null> {
  return useResource((store) => store.find(USAGE))
}

const SETTINGS: Value<AppSettings> = {
  read: (client) => client.readKept('settings'),
  // Rules of settings may name plans.
  kinds: ['settings', 'subscription'],
  isPublic: true,
}

/** The app's settings. */
export function useSettings(): Loaded<AppSettings> {
  return useResource((store) => store.find(SETTINGS)) as Loaded<AppSettings>
}

const PLANS: Value<PricingPlan[]> = {
  read: (client) => client.readKept('plans'),
  kinds: [],
  isPublic: true,
}

/** The pricing plans on sale. */
export function usePricingPlans(): Loaded<PricingPlan[]> {
  return useResource((store) => store.find(PLANS)) as Loaded<PricingPlan[]>
}

function useResource<T>(choose: (store: Store) => Resource<T>): Loaded<T> {
  const { subscribe, getSnapshot, getServerSnapshot } = choose(findStore(useClient()))
  return useSyncExternalStore(subscribe, getSnapshot, getServerSnapshot)
}

const IDLE = { data: undefined, error: null, isLoading: false, progress: null }

type UploadState = Pick<Upload, 'data' | 'error' | 'isLoading' | 'progress'>

/** Uploads files and reports the progress. An upload continues if the component unmounts. */
export function useUpload(): Upload {
  const client = useClient()
  const [state, setState] = useState<UploadState>(IDLE)
  const current = useRef<AbortController | null>(null)
  const last = useRef<UploadInput | null>(null)
  // The next user must neither see the previous user's files nor send them again.
  useEffect(
    () =>
      client.onAuthChange(({ reason }) => {
        if (reason === 'refreshed') return
        current.current = null
        last.current = null
        setState(IDLE)
      }),
    [client],
  )

  const upload = useCallback(
    async (input: UploadInput) => {
      const controller = new AbortController()
      current.current?.abort()
      current.current = controller
      const sent = { ...input, idempotencyKey: input.idempotencyKey ?? randomHex() }
      last.current = sent
      const show = (changes: Partial<UploadState>) => {
        if (current.current === controller) setState((before) => ({ ...before, ...changes }))
      }
      show({ ...IDLE, isLoading: true })
      const finish = (changes: Partial<UploadState>) => {
        show({ ...changes, isLoading: false, progress: null })
        // Ignores late progress.
        if (current.current === controller) current.current = null
      }
      const onProgress = (progress: Progress) => {
        show({ progress })
        input.onProgress?.(progress)
      }
      try {
        const { signal } = controller
        const data = await client.uploadAttachments({ ...sent, onProgress }, { signal })
        finish({ data })
        return data
      } catch (error) {
        finish({ error: error as ApiError })
        return null
      }
    },
    [client],
  )
  const retry = useCallback(async () => (last.current ? upload(last.current) : null), [upload])
  const cancel = useCallback(() => current.current?.abort(), [])
  return useMemo(() => ({ ...state, upload, retry, cancel }), [state, upload, retry, cancel])
}
