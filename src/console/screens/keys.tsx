import { send } from '../api.ts'
import type { Keys, Me } from '../types.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Act, At, Badge, Card, Copy, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

const USES: [use: string, title: string, what: string][] = [
  ['enc', 'Payload keys', 'Apps seal what they send for these, and may pin their thumbprints.'],
  ['sig', 'Token keys', 'Access tokens are signed with these.'],
]

/** The keys by their thumbprints. */
export function KeysScreen({ me }: { me: Me }) {
  const keys = useRemote<Keys>('keys')
  const rotate = (use: string, atOnce: boolean) => async () => {
    await send('keys/rotate', { use, atOnce })
    await keys.reload()
  }
  return (
    <>
      <Title>Keys</Title>
      <Loaded from={keys}>
        {(data) =>
          USES.map(([use, title, what]) => {
            const own = data.keys.filter((key) => key.use === use)
            return (
              <Card key={use} title={title}>
                <p class="soft">{what}</p>
                <ul class="list">
                  {own.map(({ kid, state, from, until }) => (
                    <li key={kid}>
                      <span class="mono">{kid}</span>
                      <Badge tone={state === 'current' ? 'good' : 'plain'}>{state}</Badge>
                      <span class="soft">
                        {from && (
                          <>
                            from <At at={from} />
                          </>
                        )}
                        {until && (
                          <>
                            {' '}
                            until <At at={until} />
                          </>
                        )}
                      </span>
                    </li>
                  ))}
                </ul>
                <div class="actions">
                  {use === 'enc' && (
                    <Copy text={own.map(({ kid }) => kid).join('\n')} label="Copy the pins" />
                  )}
                  {me.role !== 'reader' && (
                    <>
                      <Act
                        act={rotate(use, false)}
                        done="A new key is published, and used after a day."
                      >
                        Rotate
                      </Act>
                      <Confirm
                        label="Rotate now and end all others"
                        act={rotate(use, true)}
                        done="The new key is in use, all others are destroyed."
                      >
                        <p>For keys that somebody else may know. This breaks: {data.lost[use]}.</p>
                      </Confirm>
                    </>
                  )}
                </div>
              </Card>
            )
          })
        }
      </Loaded>
    </>
  )
}
