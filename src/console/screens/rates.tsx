import { send } from '../api.ts'
import type { Me, Rates } from '../types.ts'
import { say } from '../ui/messages.tsx'
import { Act, Ago, At, Card, Facts, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type Outcome = { outcome: string; reason?: string; date?: string }

/** The currency rates: where they are from, and what was refused. */
export function RatesScreen({ me }: { me: Me }) {
  const rates = useRemote<Rates>('rates')
  const refresh = async () => {
    const { outcome, reason, date } = await send<Outcome>('rates/refresh')
    await rates.reload()
    if (outcome === 'stored') say(`The rates of ${date} are served.`)
    else if (outcome === 'unchanged') say('There are no newer rates.')
    else say(`The rates stay as they are: ${reason}.`, 'bad')
  }
  return (
    <>
      <Title actions={me.role !== 'reader' && <Act act={refresh}>Refresh now</Act>}>Rates</Title>
      <Loaded from={rates}>
        {(data) => (
          <>
            <Card>
              <Facts
                of={[
                  ['Source', data.provider ?? 'off: those of the first start are served'],
                  ['Published', <At key="published" at={data.updatedAt} />],
                  ['Last asked with success', <Ago key="asked" at={data.succeededAt} />],
                  ['Last attempt', data.last ? attempt(data.last) : 'not since the start'],
                  ['Base', data.baseCode],
                ]}
              />
              {data.held && (
                <p class="warn">
                  These jumped on {data.held.date} and keep their last good rate until another
                  publication confirms them: {Object.keys(data.held.rates).join(', ')}
                </p>
              )}
            </Card>
            <Card title={`One ${data.baseCode} is`}>
              <div class="scroll">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Currency</th>
                      <th scope="col" class="number">
                        Rate
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {Object.entries(data.rates).map(([code, rate]) => (
                      <tr key={code}>
                        <td>{code}</td>
                        <td class="number">{rate}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </Card>
          </>
        )}
      </Loaded>
    </>
  )
}

function attempt(last: NonNullable<Rates['last']>): string {
  return 'reason' in last ? `${last.outcome}: ${last.reason}` : last.outcome
}
