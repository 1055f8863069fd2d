import type { Usage } from '../../../features/usage/service.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import type { ReplyOf } from '../../api.ts'
import { publicUrl } from '../../declared.ts'
import { number, words } from '../../format.ts'
import { go, linkTo, readFilters, withQuery } from '../../router.ts'
import { SelectField } from '../../ui/fields.tsx'
import { Badge, Card, CopyLine, List, Time, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { asTime, ListBar, Table } from '../../ui/table.tsx'
import { UserLink } from '../../ui/user-link.tsx'

type MostUsed = ReplyOf<Usage['listMostUsed']>
type UserUsage = ReplyOf<Usage['read']>

const LIMITS: Record<string, string> = {
  seatLimit: 'Seats',
  appLimit: 'Apps',
  keywordLimit: 'Keywords',
  apiRequestLimit: 'API requests',
  competitorLimitPerApp: 'Competitors per app',
  aiMonthlyCreditLimit: 'AI credits',
  storefrontLimit: 'Storefronts',
}

/** The users with the highest usage of a limit. */
export function UsageScreen() {
  const path = `usage${readFilters(['limit']).search}`
  const usage = useRemote<MostUsed & { people: Record<string, string> }>(path)
  return (
    <>
      <Title>Usage</Title>
      <Loaded from={usage}>
        {({ names, name, users, people }) => (
          <>
            <div class="fields">
              <SelectField
                label="Limit"
                value={name}
                options={names.map((one) => [one, limitName(one)])}
                onChange={(limit) => go(withQuery({ limit }))}
              />
            </div>
            <Card title="Highest usage">
              <ListBar noun="user" total={users.length} csv={path} isPersonal />
              <Table
                caption="Users with the highest usage"
                rows={users}
                keyOf={({ userId }) => userId}
                order="-used"
                empty={<NoUsage />}
                columns={[
                  {
                    name: 'User',
                    cell: ({ userId }) => <UserLink id={userId} names={people} tab="/usage" />,
                  },
                  {
                    name: 'Used',
                    onPhone: 'aside',
                    kind: 'number',
                    sort: '-used',
                    field: 'used',
                    format: number,
                  },
                  {
                    name: 'Limit',
                    onPhone: 'line',
                    cell: ({ hasReachedLimit }) =>
                      hasReachedLimit ? <Badge tone="warn">limit reached</Badge> : null,
                  },
                  { name: 'Resets', sort: 'resets', field: 'resetsAt', format: asTime },
                ]}
              />
            </Card>
          </>
        )}
      </Loaded>
    </>
  )
}

/** A user's usage of each limit of the plan. */
export function UserUsage({ id }: { id: string }) {
  const usage = useRemote<UserUsage>(`usage/${encodeSegment(id)}`)
  return (
    <Card title="Usage">
      <Loaded from={usage}>
        {(limits) => (
          <List items={limits} empty="This user has no plan.">
            {(limit) => <LimitUsage key={limit.name} usage={limit} />}
          </List>
        )}
      </Loaded>
    </Card>
  )
}

function LimitUsage({ usage }: { usage: UserUsage[number] }) {
  const { name, used, limit, period, resetsAt } = usage
  const label = limitName(name)
  return (
    <li>
      <span>
        {label}: {number(used)}
        {limit === null ? ', unlimited' : ` of ${number(limit)}`}
        {period !== 'total' && ` per ${period}`}
      </span>
      {resetsAt && (
        <span class="soft">
          Resets <Time at={resetsAt} />
        </span>
      )}
      {limit !== null && limit > 0 && (
        <>
          {used >= limit && <Badge tone="warn">limit reached</Badge>}
          <meter aria-label={label} value={used} max={limit} />
        </>
      )}
    </li>
  )
}

/** `Seats` for `seatLimit`; a custom limit by its own name. */
function limitName(limit: string): string {
  return LIMITS[limit] ?? words(limit)
}

function NoUsage() {
  return (
    <>
      <p>
        No usage in the current period. Your other servers count usage against the limits of plans,
        with an <a href={linkTo('api-keys')}>API key</a>, as the{' '}
        <a href="/docs/server">server API</a> describes:
      </p>
      <CopyLine name="URL" text={publicUrl('/api/server/usage/v1')} />
    </>
  )
}
