import { useState } from 'preact/hooks'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { send } from '../../api.ts'
import { listDrafts, removeDraft, type StoredDraft } from '../../editing/drafts.ts'
import { readPreferences, unnamedUser, words } from '../../format.ts'
import { otherTabs } from '../../frame/other-tabs.ts'
import { type Me, savePreference } from '../../operator.ts'
import { createPasskey, type PasskeyOptions, passkeyObstacle } from '../../passkey.ts'
import { Confirm, Dialog } from '../../ui/dialog.tsx'
import { SelectField } from '../../ui/fields.tsx'
import { Action, Badge, Card, Details, List, Time, TimeAgo, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { asTimeAgo, Table } from '../../ui/table.tsx'

const ZONES = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])
const ZONE_OPTIONS = [...ZONES].map((zone): [string, string] => [zone, zone.replaceAll('_', ' ')])

/** Kept on the device, so that a phone can be dark while the desktop is light. */
function Appearance() {
  const [{ theme, zone }, setPreferences] = useState(readPreferences)
  const save = (name: 'theme' | 'zone') => (value: string) => {
    savePreference(name, value)
    setPreferences(readPreferences())
  }
  return (
    <Card title="This device">
      <div class="fields">
        <SelectField
          label="Theme"
          value={theme}
          options={[
            ['', 'System default'],
            ['light', 'Light'],
            ['dark', 'Dark'],
          ]}
          onChange={save('theme')}
        />
        <SelectField
          label="Time zone"
          value={zone}
          options={[['', 'System default'], ...ZONE_OPTIONS]}
          onChange={save('zone')}
        />
      </div>
    </Card>
  )
}

/** The operator's own passkeys and sessions. */
export function Screen() {
  const remote = useRemote<Me>('me')
  const addPasskey = async () => {
    const options = await send<PasskeyOptions>('me/passkeys/options')
    await send('me/passkeys', await createPasskey(options))
    await remote.reload()
  }
  const sendAndReload = (path: string) => async () => {
    await send(path)
    await remote.reload()
  }
  return (
    <Loaded from={remote}>
      {(me) => (
        <>
          <Title actions={<SignOut />}>{me.name}</Title>
          <Card>
            <Details
              items={[
                ['Role', me.role],
                ['Identity confirmed', <TimeAgo key="proven" at={me.provenAt} />],
              ]}
            />
          </Card>
          <Appearance />
          <Card title="Passkeys">
            <List
              items={me.passkeys}
              empty="No passkeys. With a passkey, you can sign in without a password or code."
            >
              {({ id, name, host, lastUsedAt }) => (
                <li key={id}>
                  <span>{name}</span>
                  <span class="soft">
                    for {host}, {lastUsedAt ? 'last used ' : 'not used yet'}
                    {lastUsedAt && <TimeAgo at={lastUsedAt} />}
                  </span>
                  <span class="actions">
                    <Confirm
                      label={`Remove passkey ${name}`}
                      verb="Remove passkey"
                      done="Passkey removed."
                      run={sendAndReload(`me/passkeys/${encodeSegment(id)}/remove`)}
                    >
                      <p>
                        You will no longer be able to sign in with it. All sessions started with it
                        end, possibly including this one.
                      </p>
                    </Confirm>
                  </span>
                </li>
              )}
            </List>
            {passkeyObstacle === null ? (
              <div class="actions">
                <Action run={addPasskey} done="Passkey added.">
                  Add passkey
                </Action>
              </div>
            ) : (
              <p class="soft">{passkeyObstacle}</p>
            )}
          </Card>
          <Card title="Your sessions">
            <Table
              caption="Your sessions"
              rows={me.sessions}
              keyOf={({ id }) => id}
              order="-seen"
              columns={[
                { name: 'Device', field: 'device' },
                { name: 'IP address', onPhone: 'line', field: 'ip' },
                { name: 'Last seen', sort: '-seen', field: 'lastSeenAt', format: asTimeAgo },
                {
                  name: 'Actions',
                  kind: 'actions',
                  cell: ({ id, device }) =>
                    id === me.session ? (
                      <Badge>This session</Badge>
                    ) : (
                      <Action
                        run={sendAndReload(`me/sessions/${id}/end`)}
                        done={`Signed out ${device}.`}
                      >
                        Sign out {device}
                      </Action>
                    ),
                },
              ]}
            />
          </Card>
        </>
      )}
    </Loaded>
  )
}

/** Signs out. If this browser keeps drafts of the operator, asks what to do with them. */
function SignOut() {
  const [drafts, setDrafts] = useState<StoredDraft[]>([])
  const signOut = async (unwanted: StoredDraft[]) => {
    await send('me/sign-out')
    for (const { key } of unwanted) removeDraft(key)
    otherTabs?.postMessage(null)
    location.assign('/console')
  }
  const ask = async () => {
    const kept = listDrafts()
    setDrafts(kept)
    if (kept.length === 0) await signOut([])
  }
  return (
    <>
      <Action run={ask}>Sign out</Action>
      {drafts.length > 0 && (
        <Dialog title="You have unsaved changes" onClose={() => setDrafts([])}>
          <List items={[...Map.groupBy(drafts, ({ screen }) => screen)]}>
            {([screen, [newest, ...others]]) => (
              <li key={screen}>
                <span>
                  {draftName(screen)}
                  {others.length > 0 && `, ${others.length + 1} versions`}
                </span>
                <span class="soft">
                  <Time at={newest?.savedAt ?? null} />
                </span>
              </li>
            )}
          </List>
          <p>Only you can restore them, by signing in again in this browser.</p>
          <div class="actions end">
            <button type="button" onClick={() => setDrafts([])}>
              Stay signed in
            </button>
            <Action kind="danger" run={() => signOut(drafts)}>
              Delete and sign out
            </Action>
            <Action kind="primary" run={() => signOut([])}>
              Keep and sign out
            </Action>
          </div>
        </Dialog>
      )}
    </>
  )
}

/** What a draft is about: a screen, or the notes on a user. */
function draftName(screen: string): string {
  const [, user] = /^people\/(.+)\/notes$/.exec(screen) ?? []
  return user === undefined ? words(screen) : `Note on ${unnamedUser(user)}`
}
