import type { Sentences } from '../../../platform/http/language/translator.ts'

export const stripeGerman: Sentences = {
  'Another checkout of this user has just started.': 'Ein anderer Kauf hat gerade begonnen.',
  'Sales by card are not set up.': 'Der Kauf per Karte ist nicht eingerichtet.',
  'Sign up first: a purchase on the web belongs to an account.':
    'Lege zuerst ein Konto an: Ein Kauf im Web gehört zu einem Konto.',
  'Stripe cannot be used now. Try again in a minute.':
    'Stripe ist gerade nicht erreichbar. Versuche es in einer Minute noch einmal.',
  'The customer no longer exists at Stripe.': 'Der Kunde existiert bei Stripe nicht mehr.',
  'The user has a subscription already. Open the customer portal.':
    'Es gibt bereits ein Abonnement. Öffne das Kundenportal.',
  'The user has a subscription in another store, which renews.':
    'In einem anderen Store gibt es ein Abonnement, das sich verlängert.',
  'The user has bought nothing by card.': 'Es wurde noch nichts per Karte gekauft.',
  'This plan is not sold by card now.': 'Dieser Tarif wird zurzeit nicht per Karte verkauft.',
}
