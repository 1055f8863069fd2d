import type Stripe from 'stripe'

type Made = { id: string; created: number }

const RESPONSE_TIME = 7 * 86_400

export function createDisputeObject(
  { id, created }: Made,
  charge: Stripe.Charge,
  isInquiry: boolean,
): Stripe.Dispute {
  return {
    id,
    object: 'dispute',
    amount: charge.amount,
    balance_transactions: [],
    charge: charge.id,
    created,
    currency: charge.currency,
    enhanced_eligibility_types: [],
    evidence: createEvidence(),
    evidence_details: {
      due_by: created + RESPONSE_TIME,
      enhanced_eligibility: {},
      has_evidence: false,
      past_due: false,
      submission_count: 0,
      submission_method: 'not_submitted',
    },
    intended_submission_method: null,
    is_charge_refundable: isInquiry,
    livemode: charge.livemode,
    metadata: {},
    network_reason_code: null,
    payment_intent: charge.payment_intent,
    payment_method_details: {
      card: {
        brand: 'visa',
        case_type: isInquiry ? 'inquiry' : 'chargeback',
        network: 'visa',
        network_reason_code: '10.4',
      },
      type: 'card',
    },
    reason: 'fraudulent',
    status: isInquiry ? 'warning_needs_response' : 'needs_response',
  }
}

/** The movement of money that a dispute causes: out of the account, or back into it. */
export function createDisputeTransaction(
  { id, created }: Made,
  dispute: Stripe.Dispute,
  direction: 'withdrawn' | 'reinstated',
): Stripe.BalanceTransaction {
  const amount = direction === 'withdrawn' ? -dispute.amount : dispute.amount
  const isReversal = direction === 'reinstated'
  return {
    id,
    object: 'balance_transaction',
    amount,
    available_on: created,
    balance_type: 'payments',
    created,
    currency: dispute.currency,
    description: null,
    exchange_rate: null,
    fee: 0,
    fee_details: [],
    net: amount,
    reporting_category: isReversal ? 'dispute_reversal' : 'dispute',
    source: dispute.id,
    status: 'available',
    type: 'adjustment',
  }
}

function createEvidence(): Stripe.Dispute.Evidence {
  return {
    access_activity_log: null,
    billing_address: null,
    cancellation_policy: null,
    cancellation_policy_disclosure: null,
    cancellation_rebuttal: null,
    customer_communication: null,
    customer_email_address: null,
    customer_name: null,
    customer_purchase_ip: null,
    customer_signature: null,
    duplicate_charge_documentation: null,
    duplicate_charge_explanation: null,
    duplicate_charge_id: null,
    enhanced_evidence: {},
    product_description: null,
    receipt: null,
    refund_policy: null,
    refund_policy_disclosure: null,
    refund_refusal_explanation: null,
    service_date: null,
    service_documentation: null,
    shipping_address: null,
    shipping_carrier: null,
    shipping_date: null,
    shipping_documentation: null,
    shipping_tracking_number: null,
    uncategorized_file: null,
    uncategorized_text: null,
  }
}
