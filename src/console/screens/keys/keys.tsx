import { ActionButton } from '../../ui/declared.tsx'
import { Badge, Card, Copy, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { asTime, ListBar, Table } from '../../ui/table.tsx'

type Keys = {
  keys: { use: string; state: string; kid: string; from: string | null; until: string | null }[]
  lost: Record<string, string>
}

const USES: [use: 'enc' | 'sig', title: string, description: string][] = [
  [
    'enc',
    'Payload keys',
    'Apps encrypt requests with these keys and can pin their thumbprints. Installed apps keep working after a rotation: the old key is accepted for 30 days after the new one has taken effect.',
  ],
  ['sig', 'Token keys', 'These keys sign access tokens. Users stay signed in after a rotation.'],
]

const ROTATION: Record<string, string> = {
  enc: 'The new key takes effect in a day, and the old one is accepted for 30 more days. If your app pins thumbprints, ship an update with the new one before then.',
  sig: 'The new key takes effect in a day. Users stay signed in.',
}

export function Screen() {
  const keys = useRemote<Keys>('keys')
  return (
    <>
      <Title>Keys</Title>
      <Loaded from={keys}>
        {(data) => (
          <>
            <ListBar noun="key" total={data.keys.length} csv="keys" />
            {USES.map(([use, title, description]) => {
              const shown = data.keys.filter((key) => key.use === use)
              const thumbprints = shown.map(({ kid }) => kid).join('\n')
              return (
                <Card key={use} title={title}>
                  <p class="soft">{description}</p>
                  <Table
                    caption={title}
                    rows={shown}
                    keyOf={({ kid }) => kid}
                    columns={[
                      { name: 'Thumbprint', cell: ({ kid }) => <span class="mono">{kid}</span> },
                      {
                        name: 'State',
                        onPhone: 'aside',
                        cell: ({ state }) => (
                          <Badge tone={state === 'current' ? 'good' : 'plain'}>{state}</Badge>
                        ),
                      },
                      { name: 'From', field: 'from', format: asTime },
                      { name: 'Until', field: 'until', format: asTime },
                    ]}
                  />
                  <div class="actions">
                    {use === 'enc' && <Copy text={thumbprints} label="Copy thumbprints" />}
                    <ActionButton
                      path="keys/rotate"
                      input={{ use, atOnce: false }}
                      target={title.toLowerCase()}
                      done="New key published. It takes effect in a day."
                      isReversible
                      onDone={keys.reload}
                    >
                      <p>{ROTATION[use]}</p>
                    </ActionButton>
                    <ActionButton
                      path="keys/rotate"
                      input={{ use, atOnce: true }}
                      label="Rotate now and revoke all other keys"
                      verb="Rotate and revoke"
                      done="New key in use. All other keys have been revoked."
                      onDone={keys.reload}
                    >
                      <p>Do this if a key may have leaked. Consequence: {data.lost[use]}.</p>
                    </ActionButton>
                  </div>
                </Card>
              )
            })}
          </>
        )}
      </Loaded>
    </>
  )
}
