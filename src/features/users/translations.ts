import type { Sentences } from '../../platform/http/language/translator.ts'

export const userGerman: Sentences = {
  'This account no longer exists.': 'Dieses Konto gibt es nicht mehr.',
  'Signed out.': 'Du bist abgemeldet.',
  'An e-mail is on its way.': 'Eine E-Mail ist unterwegs.',
  'An e-mail is on its way to the new address. Nothing changes until you open its link.':
    'Eine E-Mail an die neue Adresse ist unterwegs. Bis zum Klick auf ihren Link ändert sich nichts.',
  'If the account exists, an e-mail is on its way.':
    'Wenn es dieses Konto gibt, ist eine E-Mail unterwegs.',
  'The account and everything in it have been deleted.': 'Das Konto und alles darin ist gelöscht.',
  'The account and everything in it have been deleted. The store keeps charging for your subscription until you cancel it there.':
    'Das Konto und alles darin ist gelöscht. Der Store berechnet dein Abo weiter, bis du es dort kündigst.',
  'The address has been confirmed.': 'Die Adresse ist bestätigt.',
  'The address is already confirmed.': 'Die Adresse ist schon bestätigt.',
  'The address is unchanged. Choose a new password: someone else knows yours.':
    'Die Adresse bleibt, wie sie ist. Wähle ein neues Passwort: Jemand kennt deines.',
  'The password has been changed. Other devices have been signed out.':
    'Das Passwort ist geändert. Andere Geräte sind abgemeldet.',
  'The new password is set. You can now sign in with it.':
    'Das Passwort ist festgelegt. Melde dich damit an.',
  'The provider has been unlinked. Other devices have been signed out.':
    'Der Anbieter ist getrennt. Andere Geräte sind abgemeldet.',
  'The session has ended.': 'Die Sitzung ist beendet.',
  'Two-factor is off. Other devices have been signed out.':
    'Die Anmeldung in zwei Schritten ist ausgeschaltet. Andere Geräte sind abgemeldet.',
  'Two-factor authentication is not on.':
    'Die Anmeldung in zwei Schritten ist nicht eingeschaltet.',
  'Two-factor authentication is already on.':
    'Die Anmeldung in zwei Schritten ist bereits eingeschaltet.',
  'The code is wrong or was used before.': 'Der Code ist falsch oder wurde schon benutzt.',
  'There is no address to confirm.': 'Es gibt keine Adresse zu bestätigen.',
  'Too many requests to change the address. Try again later.':
    'Die Adresse wurde zu oft geändert. Versuche es später noch einmal.',
  'This link was already used or has expired: request a new one.':
    'Dieser Link wurde schon benutzt oder ist zu alt: Fordere einen neuen an.',
  'The notification was received.': 'Die Meldung ist angekommen.',
  'Another account has this e-mail address.': 'Ein anderes Konto hat diese E-Mail-Adresse.',
  'An account with this e-mail address already exists: sign in instead.':
    'Mit dieser E-Mail-Adresse gibt es schon ein Konto: Melde dich damit an.',
  'The access token has expired: refresh it.': 'Die Anmeldung ist abgelaufen.',
  'The token is invalid or has expired: sign in again.':
    'Die Anmeldung ist nicht mehr gültig: Melde dich neu an.',
  'This is the only way to sign in: add another one first.':
    'Du könntest dich nicht mehr anmelden: Füge erst eine andere Möglichkeit hinzu.',
  'The code is wrong or has expired. Check it, or request a new one.':
    'Der Code ist falsch oder zu alt. Prüfe ihn oder fordere einen neuen an.',
  'This passkey was not accepted.': 'Dieser Passkey gilt hier nicht.',
  'Passkeys cannot be used on this website.': 'Passkeys funktionieren auf dieser Website nicht.',
  'This passkey is already registered.': 'Diesen Passkey gibt es schon.',
  'You already have # passkeys. Remove one first.':
    'Du hast schon # Passkeys. Entferne erst einen.',
  'The passkey has been removed. Other devices have been signed out.':
    'Der Passkey ist entfernt. Andere Geräte sind abgemeldet.',
  'Sign in again to confirm that it is you.': 'Melde dich neu an, um zu zeigen, dass du es bist.',
  'Enter the code from your authenticator app.': 'Gib den Code deiner Authenticator-App ein.',
  'New accounts need an invitation.': 'Für ein neues Konto brauchst du eine Einladung.',
  'New accounts are not accepted.': 'Neue Konten sind zurzeit nicht möglich.',
  'The id token was not accepted: sign in with the provider again.':
    'Die Anmeldung beim Anbieter ist hier nicht gültig: Melde dich dort noch einmal an.',
  'The identity provider is unavailable. Try again in a moment.':
    'Der Anbieter ist gerade nicht erreichbar. Versuche es gleich noch einmal.',
  'This session is refreshed too often. Wait a moment.':
    'Diese Sitzung wird zu oft erneuert. Warte einen Moment.',
  'Too many sign-ins at the moment. Try again shortly.':
    'Gerade melden sich zu viele an. Versuche es gleich noch einmal.',
  'The e-mail address or the password is wrong.':
    'Die E-Mail-Adresse oder das Passwort ist falsch.',
  'The password is wrong.': 'Das Passwort ist falsch.',
  'The password must have # characters or more.': 'Das Passwort braucht mindestens # Zeichen.',
  'The password must have # characters or fewer.': 'Das Passwort darf höchstens # Zeichen haben.',
  'The password must not be your address or name.':
    'Das Passwort darf nicht deine Adresse oder dein Name sein.',
  'The password must not repeat a single character.':
    'Das Passwort darf nicht aus nur einem Zeichen bestehen.',
  'The password is too common.': 'Das Passwort gehört zu den häufigsten: Wähle ein anderes.',
  'must be text of at most # characters, or null':
    'muss Text mit höchstens # Zeichen oder null sein',
  'must be true, false or null': 'muss true, false oder null sein',
  'must be the key of one of your public images':
    'muss der Schlüssel eines eigenen öffentlichen Bildes sein',
  'must have # to # characters': 'muss # bis # Zeichen haben',
  'must not be your address or name': 'darf nicht deine Adresse oder dein Name sein',
  'must not repeat a single character': 'darf nicht aus nur einem Zeichen bestehen',
  'is too common': 'gehört zu den häufigsten',
}
