import type { Timeline } from '../../../features/billing/access/timeline.ts'
import type { Profile } from '../../../features/users/profile/service.ts'
import type { Users } from '../../../features/users/users.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import type { ReplyOf } from '../../api.ts'
import { unnamedUser } from '../../format.ts'
import { currentPath, linkTo } from '../../router.ts'
import { Badge, Details, Sentence, TimeAgo, Title } from '../../ui/parts.tsx'
import { ACCESS, placeName, storeName } from '../purchases/labels.ts'
import { hasPurchases } from '../purchases/parts.tsx'

type AccessSummary = ReplyOf<Timeline['summarize']>

export type UserDetails = {
  user: ReplyOf<Profile['read']>
  account: ReplyOf<Users['accounts']['exportAccount']>
  identities: ReplyOf<Users['identities']['list']>
  passkeys: ReplyOf<Users['passkeys']['list']>
  sessions: ReplyOf<Users['devices']['list']>
  notes: ReplyOf<Users['notes']['list']>
  access: AccessSummary
  limits: { name: string; until: string }[]
}

/** The user's name and access, above every tab. */
export function UserHeader({ details: { user, account, access, sessions } }: HeaderProps) {
  const { email, profile } = user
  const [status, tone] = ACCESS[access.status]
  const unlocksNothing = access.status === 'unlocks_nothing'
  const place = placeName(account.platform, account.country)
  return (
    <>
      <Title>{profile.name || email || unnamedUser(user._id)}</Title>
      <section class="glance" aria-label="At a glance">
        <p class="tags">
          {profile.name && email && <span>{email}</span>}
          {user.loginType === 'guest' && <Badge>Guest</Badge>}
          <Badge tone={tone}>{status}</Badge>
        </p>
        <p class={`sentence ${access.isActive ? tone : 'off'}`}>
          <Sentence>{access.sentence}</Sentence>
        </p>
        {unlocksNothing && (
          <p class="notice bad">
            <span>
              The user has paid, but the product belongs to no plan and has no entitlement. Add it
              to a plan.
            </span>
            <a href={linkTo('plans', { from: currentPath() })}>Open the plans</a>
          </p>
        )}
        {access.failedEvent && (
          <p class="notice warn">
            <span>
              <Sentence>{access.failedEvent.text}</Sentence>
            </span>
            <a href={linkTo(`events/${encodeSegment(access.failedEvent.id)}`)}>Open the event</a>
          </p>
        )}
        <Details
          items={[
            // The sentence above already names the plan and the day.
            access.status !== 'granted' &&
              access.store !== null && ['Store', storeName(access.store)],
            (access.isActive || unlocksNothing) && ['Unlocked', unlockedText(access)],
            ['Last seen', <TimeAgo key="seen" at={lastSeen(account.lastSeenAt, sessions)} />],
            place !== '' && ['Platform and country', place],
          ]}
        />
      </section>
    </>
  )
}

type HeaderProps = { details: UserDetails }

function unlockedText({ plan, entitlements }: AccessSummary): string {
  if (entitlements.length > 0) return entitlements.join(', ')
  return plan === null ? 'Nothing' : `Plan ${plan}`
}

/** Sessions have a more exact time, but end when the user signs out. */
function lastSeen(stored: string | null, sessions: UserDetails['sessions']): string | null {
  const used = sessions.map(({ lastUsedAt }) => lastUsedAt)
  return [stored ?? '', ...used].toSorted().at(-1) || null
}

/** Shown instead of the header. Other records may still name a deleted user. */
export function UnknownUser({ id }: { id: string }) {
  return (
    <>
      <Title>Deleted or unknown user</Title>
      <p>
        No user has the id <span class="mono">{id}</span>. If the account was deleted, its purchases
        and the audit log may still name it.
      </p>
      <div class="actions">
        <a class="button" href={linkTo('people')}>
          Back to People
        </a>
        {hasPurchases() && (
          <a class="button" href={linkTo('purchases', { id })}>
            Search purchases
          </a>
        )}
        <a class="button" href={linkTo('audit', { target: id })}>
          Search audit log
        </a>
      </div>
    </>
  )
}
