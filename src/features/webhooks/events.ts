/** An endpoint for `all` also receives types that later versions add. */
export const EVENT_TYPES = [
  'user.created',
  'user.updated',
  'user.deleted',
  'subscription.changed',
  'usage.limit_reached',
  'file.added',
  'alert.fired',
  'alert.resolved',
  'test',
] as const

type EventType = (typeof EVENT_TYPES)[number]

export const ALL_EVENTS = 'all'

/** `user` is the user as the server API describes it. */
type UserData = { userId: string; user: object }

/** `rule` is the name of the alert rule; `value` is null if it is unknown. */
type AlertData = {
  rule: string
  title: string
  severity: string
  value: number | null
  threshold: number
  unit: string
}

type EventData = {
  'user.created': UserData
  'user.updated': UserData
  /** `mergedInto`: the account that now has the guest's data. This message outlives the user. */
  'user.deleted': { userId: string; mergedInto: string | null }
  /** What the user has access to. `reason` is the sentence that the console shows. */
  'subscription.changed': {
    userId: string
    environment: string
    previous: object
    current: object
    reason: string
  }
  /** `limit` is the limit's name; `resetsAt` is null if it does not reset. */
  'usage.limit_reached': {
    userId: string
    limit: string
    max: number
    used: number
    resetsAt: string | null
  }
  /** A file of the type `supportTicket`. The server API lists the user's files with their URLs. */
  'file.added': { userId: string; file: object }
  'alert.fired': AlertData
  'alert.resolved': AlertData
  test: { text: string }
}

/** An event as features emit it. `userId` is the user whose data it contains; null if there is none. */
export type WebhookEvent = {
  [Type in EventType]: { type: Type; userId: string | null; data: EventData[Type] }
}[EventType]

type StoredMessage = { type: string; createdAt: Date; data: string }

/** `{ type, timestamp, data }`. */
export function toBody({ type, createdAt, data }: StoredMessage): string {
  return `{"type":${JSON.stringify(type)},"timestamp":"${createdAt.toISOString()}","data":${data}}`
}
