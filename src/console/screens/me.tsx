import { startRegistration } from '@simplewebauthn/browser'
import { encodeSegment } from '../../lib/path-segment.ts'
import { send } from '../api.ts'
import type { Me } from '../types.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Act, Ago, Badge, Card, Empty, Facts, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'
import { deviceName } from './door.tsx'

/** Who sits here, with what they sign in, and where else they are. */
export function MeScreen() {
  const remote = useRemote<Me>('me')
  const signOut = async () => {
    await send('me/sign-out')
    location.assign('/console')
  }
  const addPasskey = async () => {
    const optionsJSON =
      await send<Parameters<typeof startRegistration>[0]['optionsJSON']>('me/passkeys/options')
    const passkey = await startRegistration({ optionsJSON })
    await send('me/passkeys', { passkey, passkeyName: deviceName() })
    await remote.reload()
  }
  return (
    <Loaded from={remote}>
      {(me) => (
        <>
          <Title actions={<Act act={signOut}>Sign out</Act>}>{me.name}</Title>
          <Card>
            <Facts
              of={[
                ['Role', me.role],
                ['Confirmed', <Ago key="proven" at={me.provenAt} />],
              ]}
            />
          </Card>
          <Card title="Passkeys">
            {me.passkeys.length === 0 && <Empty>You have none.</Empty>}
            <ul class="list">
              {me.passkeys.map(({ id, name, host, lastUsedAt }) => (
                <li key={id}>
                  <span>{name}</span>
                  <span class="soft">
                    for {host}, last used <Ago at={lastUsedAt} />
                  </span>
                  <span class="actions">
                    <Confirm
                      label={`Remove the passkey ${name}`}
                      done="The passkey is removed."
                      act={async () => {
                        await send(`me/passkeys/${encodeSegment(id)}/remove`)
                        await remote.reload()
                      }}
                    >
                      <p>
                        It no longer signs you in. Sessions that it opened end, this one too if it
                        did.
                      </p>
                    </Confirm>
                  </span>
                </li>
              ))}
            </ul>
            <div class="actions">
              <Act act={addPasskey} done="The passkey is added.">
                Add a passkey
              </Act>
            </div>
          </Card>
          <Card title="Where you are signed in">
            <ul class="list">
              {me.sessions.map(({ id, device, ip, lastSeenAt }) => (
                <li key={id}>
                  <span>{device}</span>
                  <span class="soft">
                    {ip}, seen <Ago at={lastSeenAt} />
                  </span>
                  {id === me.session ? (
                    <Badge tone="good">here</Badge>
                  ) : (
                    <span class="actions">
                      <Act
                        done="It is signed out."
                        act={async () => {
                          await send(`me/sessions/${id}/end`)
                          await remote.reload()
                        }}
                      >
                        Sign out {device}
                      </Act>
                    </span>
                  )}
                </li>
              ))}
            </ul>
          </Card>
        </>
      )}
    </Loaded>
  )
}
