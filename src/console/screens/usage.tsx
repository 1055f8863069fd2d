import { useState } from 'preact/hooks'
import type { Usage } from '../../features/usage/service.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import type { ReplyOf } from '../api.ts'
import { linkTo } from '../router.ts'
import { SelectField } from '../ui/fields.tsx'
import { Badge, Card, List, Time, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type MostUsed = ReplyOf<Usage['listMostUsed']>
type UserUsage = ReplyOf<Usage['read']>

/** The users who have used most of a limit. */
export function UsageScreen() {
  const [limit, setLimit] = useState('')
  const usage = useRemote<MostUsed>(`usage${limit && `?limit=${encodeURIComponent(limit)}`}`)
  return (
    <>
      <Title>Usage</Title>
      <Loaded from={usage}>
        {({ names, name, users }) => (
          <>
            <div class="fields">
              <SelectField
                label="Limit"
                value={name}
                options={names.map((one) => [one, one])}
                onChange={setLimit}
              />
            </div>
            <Card title="Most used">
              <List items={users} empty="Not used in the current period.">
                {({ userId, used, hasReachedLimit, resetsAt }) => (
                  <li key={userId}>
                    <a class="mono" href={linkTo(`people/${userId}/usage`)}>
                      {userId}
                    </a>
                    <strong>{used}</strong>
                    {hasReachedLimit && <Badge tone="warn">limit reached</Badge>}
                    <span class="soft">
                      {resetsAt !== null && 'resets '}
                      {resetsAt !== null && <Time at={resetsAt} />}
                    </span>
                  </li>
                )}
              </List>
            </Card>
          </>
        )}
      </Loaded>
    </>
  )
}

/** What a user has used of each limit of the plan. */
export function UserUsage({ id }: { id: string }) {
  const usage = useRemote<UserUsage>(`usage/${encodeSegment(id)}`)
  return (
    <Card title="Usage">
      <Loaded from={usage}>
        {(limits) => (
          <List items={limits} empty="This user has no plan.">
            {({ name, period, used, limit, resetsAt }) => (
              <li key={name}>
                <span>{name}</span>
                <strong>{limit === null ? `${used}, unlimited` : `${used} of ${limit}`}</strong>
                {limit !== null && used >= limit && limit > 0 && (
                  <Badge tone="warn">limit reached</Badge>
                )}
                <span class="soft">
                  {period === 'total' ? 'in total' : `per ${period}`}
                  {resetsAt !== null && ', resets '}
                  {resetsAt !== null && <Time at={resetsAt} />}
                </span>
              </li>
            )}
          </List>
        )}
      </Loaded>
    </Card>
  )
}
