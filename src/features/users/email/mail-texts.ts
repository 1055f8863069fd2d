import type { Mail } from '../../../platform/outbox/mailer.ts'

export type MailKind =
  | 'verify-email'
  | 'change-email'
  | 'email-change-requested'
  | 'reset-password'
  | 'email-changed'
  | 'new-device'
  | 'token-reused'
  | 'provider-linked'
  | 'passkey-added'
  | 'email-code'
  | 'deletion-code'
  | 'no-account'
  | 'invitation'
  | 'purchase-moved'
  | 'subscription-goes-on'

type Text = { subject: string; body: string; action?: string }
type MailContent = { mail: MailKind; locale: string; link?: string; page?: string; detail?: string }

/** `%s` is the detail, such as a device or an address. */
const ENGLISH: Record<MailKind, Text> = {
  'verify-email': {
    subject: 'Confirm your e-mail address',
    body: 'Please confirm that this address is yours. The link works for 24 hours. If you did not create an account, do not confirm this address: the person who created the account knows its password.',
    action: 'Confirm the address',
  },
  'change-email': {
    subject: 'Confirm your new e-mail address',
    body: 'You asked to sign in with this address from now on. The link works for 24 hours. Nothing changes until you open it.',
    action: 'Use this address',
  },
  'email-change-requested': {
    subject: 'Someone wants to change your e-mail address',
    body: 'A request was made to change the address of your account to %s. If this was you, you do not need to do anything. If it was not, cancel the change now and choose a new password: someone knows yours. The link works until the new address is confirmed, for at most 24 hours.',
    action: 'Cancel the change',
  },
  'reset-password': {
    subject: 'Choose a new password',
    body: 'Someone, hopefully you, has asked for a new password. The link works for 30 minutes. If this was not you, ignore this e-mail.',
    action: 'Choose a password',
  },
  'email-changed': {
    subject: 'Your e-mail address was changed',
    body: 'Your account now uses the address %s. If you did not change it, reply to this e-mail right away.',
  },
  'new-device': {
    subject: 'New sign-in to your account',
    body: 'A device that we have not seen before has signed in to your account: %s. If this was not you, change your password.',
  },
  'token-reused': {
    subject: 'We have signed out one of your devices',
    body: 'Someone used an outdated sign-in token of your device %s. It may have been stolen. We have ended that session. Sign in again, and change your password if anything looks odd.',
  },
  'provider-linked': {
    subject: 'You can sign in with another provider',
    body: 'You can now also sign in to your account with %s. Your password still works, and your other devices stay signed in. If you did not choose that password yourself, choose a new one: that signs out every other device.',
  },
  'passkey-added': {
    subject: 'A passkey was added to your account',
    body: 'You can now sign in with the passkey “%s”. If you did not add it, remove it in the app and choose a new password.',
  },
  'email-code': {
    subject: 'Your sign-in code',
    body: 'Your code is %s. It works for 10 minutes, and only on the device where you asked for it. Never share it: we will never ask you for it. If you did not ask for a code, ignore this e-mail.',
  },
  'deletion-code': {
    subject: 'Your code to delete your account',
    body: 'Your code is %s. Entering it permanently deletes your account. It works for 10 minutes, and only on the page where you asked for it. Never share it. If you did not ask for it, ignore this e-mail.',
  },
  'no-account': {
    subject: 'There is no account with this address',
    body: 'Someone, hopefully you, asked for a code for the address %s, but it has no account. If you have an account, use the address that you signed up with. If this was not you, ignore this e-mail.',
  },
  invitation: {
    subject: 'You are invited',
    body: 'You are invited to create an account. Open the app and sign in with this address: %s. The invitation works for 7 days.',
    action: 'Accept the invitation',
  },
  'purchase-moved': {
    subject: 'A purchase has moved to another account',
    body: 'Someone has restored your purchase %s in another account, so your account no longer has it. If this was you, you do not need to do anything. If it was not, reply to this e-mail.',
  },
  'subscription-goes-on': {
    subject: 'Your subscription is not cancelled',
    body: 'Your account is deleted, but the store keeps charging for your subscription %s until you cancel it there. In the App Store, open https://apps.apple.com/account/subscriptions, and on Google Play https://play.google.com/store/account/subscriptions. If you bought it elsewhere, cancel it where you bought it.',
  },
}

const GERMAN: Record<MailKind, Text> = {
  'verify-email': {
    subject: 'Bestätige deine E-Mail-Adresse',
    body: 'Bitte bestätige, dass diese Adresse dir gehört. Der Link gilt 24 Stunden. Hast du kein Konto angelegt, bestätige nicht: Wer es angelegt hat, kennt sein Passwort.',
    action: 'Adresse bestätigen',
  },
  'change-email': {
    subject: 'Bestätige deine neue E-Mail-Adresse',
    body: 'Du möchtest dich künftig mit dieser Adresse anmelden. Der Link gilt 24 Stunden. Bis dahin ändert sich nichts.',
    action: 'Diese Adresse verwenden',
  },
  'email-change-requested': {
    subject: 'Jemand möchte deine E-Mail-Adresse ändern',
    body: 'Dein Konto soll die Adresse %s bekommen. Warst du es, musst du nichts tun. Warst du es nicht, brich die Änderung sofort ab und wähle ein neues Passwort: Jemand kennt deines. Der Link gilt, bis die neue Adresse bestätigt ist, höchstens 24 Stunden.',
    action: 'Änderung abbrechen',
  },
  'reset-password': {
    subject: 'Wähle ein neues Passwort',
    body: 'Jemand, hoffentlich du, hat ein neues Passwort angefordert. Der Link gilt 30 Minuten. Warst du es nicht, musst du nichts tun.',
    action: 'Passwort wählen',
  },
  'email-changed': {
    subject: 'Deine E-Mail-Adresse wurde geändert',
    body: 'Dein Konto hat jetzt die Adresse %s. Warst du es nicht, antworte sofort auf diese Mail.',
  },
  'new-device': {
    subject: 'Ein neues Gerät hat sich angemeldet',
    body: 'Ein Gerät, das wir noch nicht kennen, hat sich in deinem Konto angemeldet: %s. Warst du es nicht, ändere dein Passwort.',
  },
  'token-reused': {
    subject: 'Wir haben eines deiner Geräte abgemeldet',
    body: 'Jemand hat einen alten Schlüssel deines Geräts %s benutzt; er könnte gestohlen sein. Wir haben die Sitzung beendet. Melde dich neu an und ändere dein Passwort, wenn dir etwas seltsam vorkommt.',
  },
  'provider-linked': {
    subject: 'Du kannst dich mit einem weiteren Anbieter anmelden',
    body: 'Bei deinem Konto kannst du dich jetzt auch mit %s anmelden. Sein Passwort und deine anderen Geräte funktionieren weiter. Hast du dieses Passwort nicht selbst gewählt, wähle ein neues: Das meldet alle anderen Geräte ab.',
  },
  'passkey-added': {
    subject: 'Dein Konto hat einen neuen Passkey',
    body: 'Du kannst dich jetzt mit dem Passkey „%s“ anmelden. Hast du ihn nicht selbst hinzugefügt, entferne ihn in der App und wähle ein neues Passwort.',
  },
  'email-code': {
    subject: 'Dein Code für die Anmeldung',
    body: 'Dein Code ist %s. Er gilt 10 Minuten und nur auf dem Gerät, auf dem du ihn angefordert hast. Gib ihn nie weiter: Wir fragen dich nie danach. Hast du keinen Code angefordert, ignoriere diese Mail.',
  },
  'deletion-code': {
    subject: 'Dein Code, um dein Konto zu löschen',
    body: 'Dein Code ist %s. Wer ihn eingibt, löscht dein Konto endgültig. Er gilt 10 Minuten und nur auf der Seite, auf der du ihn angefordert hast. Gib ihn nie weiter. Hast du ihn nicht angefordert, ignoriere diese Mail.',
  },
  'no-account': {
    subject: 'Zu dieser Adresse gibt es kein Konto',
    body: 'Jemand, hoffentlich du, wollte einen Code für die Adresse %s, aber sie hat kein Konto. Hast du ein Konto, melde dich mit der Adresse an, die du damals benutzt hast. Warst du es nicht, ignoriere diese Mail.',
  },
  invitation: {
    subject: 'Du bist eingeladen',
    body: 'Du kannst ein Konto anlegen. Öffne die App und melde dich mit dieser Adresse an: %s. Die Einladung gilt 7 Tage.',
    action: 'Einladung annehmen',
  },
  'purchase-moved': {
    subject: 'Ein Kauf ist in ein anderes Konto gewechselt',
    body: 'Jemand hat deinen Kauf %s in einem anderen Konto wiederhergestellt; dein Konto hat ihn nicht mehr. Warst du es, musst du nichts tun. Warst du es nicht, antworte auf diese Mail.',
  },
  'subscription-goes-on': {
    subject: 'Dein Abo ist nicht gekündigt',
    body: 'Dein Konto ist gelöscht, aber der Store berechnet dein Abo %s weiter, bis du es dort kündigst. Öffne im App Store https://apps.apple.com/account/subscriptions und bei Google Play https://play.google.com/store/account/subscriptions. Hast du es anderswo gekauft, kündige es dort, wo du es gekauft hast.',
  },
}

const TEXTS: Record<string, Record<MailKind, Text>> = { en: ENGLISH, de: GERMAN }
/** The label of the link that works without the app. */
const IN_BROWSER: Record<string, string> = { en: 'Open in a browser', de: 'Im Browser' }

/** Subject, plain text and HTML of an e-mail in the language of `locale`, else in English. */
export function renderMail(
  { mail, locale, link, page, detail = '' }: MailContent,
  appName: string,
) {
  const [wanted = ''] = locale.split('-')
  const language = TEXTS[wanted] ? wanted : 'en'
  const { subject, body, action } = (TEXTS[language] ?? ENGLISH)[mail]
  const filled = body.replace('%s', () => detail)
  const links = [
    ...(link === undefined ? [] : [{ label: action ?? '', link }]),
    ...(page === undefined ? [] : [{ label: IN_BROWSER[language] ?? '', link: page }]),
  ]
  const text = [filled, ...links.map(({ label, link }) => `${label}:\n${link}`), appName]
  const html = [
    Bun.escapeHTML(filled),
    ...links.map(({ label, link }) => `<a href="${Bun.escapeHTML(link)}">${label}</a>`),
    Bun.escapeHTML(appName),
  ]
  return {
    subject: `${appName}: ${subject}`,
    text: `${text.join('\n\n')}\n`,
    html: `<!doctype html><html lang="${language}"><body>${html.map((part) => `<p>${part}</p>`).join('')}</body></html>`,
  }
}

export function alertMail(
  { to, subject, text }: { to: string; subject: string; text: string },
  appName: string,
): Mail {
  const html = `<!doctype html><html lang="en"><body><p>${Bun.escapeHTML(text)}</p></body></html>`
  return { to, subject: `${appName}: ${subject}`, text: `${text}\n`, html }
}
