import { useState } from 'preact/hooks'
import type { describeRates } from '../../../features/rates/lists.ts'
import { failure, type ReplyOf } from '../../api.ts'
import { currencyName, rate } from '../../format.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { TextField, VERBATIM } from '../../ui/fields.tsx'
import { Card, Details, Time, TimeAgo, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { ListBar, Table } from '../../ui/table.tsx'

type Rates = ReplyOf<typeof describeRates>

const SOURCES: Record<string, string> = {
  ecb: 'European Central Bank',
  frankfurter: 'Frankfurter',
  openexchangerates: 'Open Exchange Rates',
  'open-er-api': 'Rates By Exchange Rate API (https://www.exchangerate-api.com)',
}

export function Screen() {
  const rates = useRemote<Rates>('rates')
  const [text, setText] = useState('')
  const refresh = (
    <ActionButton
      path="rates/refresh"
      input={{}}
      onDone={async (outcome) => {
        await rates.reload()
        if ('reason' in outcome) throw failure(`Rates not updated: ${outcome.reason}.`)
        if (outcome.outcome === 'unchanged') return 'Already up to date.'
        return `Updated to the rates of ${outcome.date}.`
      }}
    />
  )
  return (
    <>
      <Title actions={refresh}>Currency rates</Title>
      <Loaded from={rates}>
        {(data) => (
          <>
            <Card>
              <Details
                items={[
                  ['Source', sourceName(data.provider)],
                  [
                    'Published',
                    data.updatedAt && (
                      <span key="published">
                        <TimeAgo at={data.updatedAt} />, <Time at={data.updatedAt} />
                      </span>
                    ),
                  ],
                  ['Last successful refresh', <TimeAgo key="refreshed" at={data.succeededAt} />],
                  [
                    'Last attempt',
                    data.last ? (
                      <span key="attempt">
                        {describeAttempt(data.last)}, <TimeAgo at={data.last.at} />
                      </span>
                    ) : (
                      'None since the server started'
                    ),
                  ],
                  ['Base currency', data.baseCode],
                ]}
              />
              {data.updatedAt === null && (
                <p class="warn">
                  There are no rates for {data.baseCode}, so apps receive none. Set another{' '}
                  <code>RATES_BASE</code>, or a <code>RATES_PROVIDER</code> that supports it.
                </p>
              )}
              {data.updatedAt && data.last && 'reason' in data.last && (
                <p class="warn">
                  Apps keep these rates until a refresh succeeds. Homeport tries again after each
                  publication and every morning. Check that the server can reach the source. If you
                  have set <code>RATES_URL</code>, check it; or set another{' '}
                  <code>RATES_PROVIDER</code>.
                </p>
              )}
              {data.held?.kept && Object.keys(data.held.kept).length > 0 && (
                <p class="warn">
                  {Object.keys(data.held.kept).join(', ')} had no valid rate on {data.held.date}.
                  Their previous rates stay in use; missing currencies are dropped after seven days.
                </p>
              )}
              {data.held && Object.keys(data.held.rates).length > 0 && (
                <p class="warn">
                  {Object.keys(data.held.rates).join(', ')} jumped on {data.held.date}. Their
                  previous rates stay in use until the next update confirms the jump.
                </p>
              )}
            </Card>
            <Card title={`1 ${data.baseCode} equals`}>
              <ListBar noun="rate" total={Object.keys(data.rates).length} csv="rates" />
              <div class="fields">
                <TextField label="Find a currency" value={text} {...VERBATIM} onChange={setText} />
              </div>
              <Table
                caption="Rates"
                rows={Object.entries(data.rates)
                  .filter(([code]) => matches(code, text))
                  .map(([code, value]) => ({ code, value }))}
                keyOf={({ code }) => code}
                empty="No currency matches."
                order="currency"
                columns={[
                  { name: 'Currency', sort: 'currency', field: 'code' },
                  {
                    name: 'Rate',
                    onPhone: 'aside',
                    kind: 'number',
                    sort: 'rate',
                    field: 'value',
                    format: rate,
                  },
                ]}
              />
            </Card>
          </>
        )}
      </Loaded>
    </>
  )
}

/** Whether a text is in the code or the name of a currency. */
function matches(code: string, text: string): boolean {
  return `${code} ${currencyName(code)}`.toLowerCase().includes(text.trim().toLowerCase())
}

function describeAttempt(last: NonNullable<Rates['last']>): string {
  return 'reason' in last ? `${last.outcome}: ${last.reason}` : last.outcome
}

/** The name of the rates' publisher. */
function sourceName(provider: string | null): string {
  if (provider === null) return 'Off: the rates are not updated'
  return provider
    .split(',')
    .map((name) => SOURCES[name] ?? name)
    .join(', ')
}
