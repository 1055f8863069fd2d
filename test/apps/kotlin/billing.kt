/** The signatures of Play Billing 9.1 that docs/google-play-kotlin.md uses, from its reference. */
package com.android.billingclient.api

import android.app.Activity
import android.content.Context

class BillingResult(val responseCode: Int, val debugMessage: String)

fun interface PurchasesUpdatedListener {
    fun onPurchasesUpdated(result: BillingResult, purchases: List<Purchase>?)
}

interface BillingClientStateListener {
    fun onBillingSetupFinished(result: BillingResult)
    fun onBillingServiceDisconnected()
}

fun interface ProductDetailsResponseListener {
    fun onProductDetailsResponse(result: BillingResult, details: QueryProductDetailsResult)
}

fun interface PurchasesResponseListener {
    fun onQueryPurchasesResponse(result: BillingResult, purchases: List<Purchase>)
}

fun interface ConsumeResponseListener {
    fun onConsumeResponse(result: BillingResult, purchaseToken: String)
}

abstract class BillingClient {
    object BillingResponseCode {
        const val OK = 0
        const val USER_CANCELED = 1
        const val ITEM_UNAVAILABLE = 4
        const val ITEM_ALREADY_OWNED = 7
        const val ITEM_NOT_OWNED = 8
    }

    object ProductType {
        const val INAPP = "inapp"
        const val SUBS = "subs"
    }

    abstract val isReady: Boolean
    abstract fun startConnection(listener: BillingClientStateListener)
    abstract fun launchBillingFlow(activity: Activity, params: BillingFlowParams): BillingResult
    abstract fun queryProductDetailsAsync(params: QueryProductDetailsParams, listener: ProductDetailsResponseListener)
    abstract fun queryPurchasesAsync(params: QueryPurchasesParams, listener: PurchasesResponseListener)
    abstract fun consumeAsync(params: ConsumeParams, listener: ConsumeResponseListener)

    abstract class Builder {
        abstract fun setListener(listener: PurchasesUpdatedListener): Builder
        abstract fun enablePendingPurchases(params: PendingPurchasesParams): Builder
        abstract fun enableAutoServiceReconnection(): Builder
        abstract fun build(): BillingClient
    }

    companion object {
        fun newBuilder(context: Context): Builder = TODO()
    }
}

class PendingPurchasesParams {
    abstract class Builder {
        abstract fun enableOneTimeProducts(): Builder
        abstract fun enablePrepaidPlans(): Builder
        abstract fun build(): PendingPurchasesParams
    }

    companion object {
        fun newBuilder(): Builder = TODO()
    }
}

class QueryProductDetailsParams {
    class Product {
        abstract class Builder {
            abstract fun setProductId(id: String): Builder
            abstract fun setProductType(type: String): Builder
            abstract fun build(): Product
        }

        companion object {
            fun newBuilder(): Builder = TODO()
        }
    }

    abstract class Builder {
        abstract fun setProductList(products: List<Product>): Builder
        abstract fun build(): QueryProductDetailsParams
    }

    companion object {
        fun newBuilder(): Builder = TODO()
    }
}

class QueryProductDetailsResult(val productDetailsList: List<ProductDetails>)

class QueryPurchasesParams {
    abstract class Builder {
        abstract fun setProductType(type: String): Builder
        abstract fun includeSuspendedSubscriptions(include: Boolean): Builder
        abstract fun build(): QueryPurchasesParams
    }

    companion object {
        fun newBuilder(): Builder = TODO()
    }
}

class ConsumeParams {
    abstract class Builder {
        abstract fun setPurchaseToken(token: String): Builder
        abstract fun build(): ConsumeParams
    }

    companion object {
        fun newBuilder(): Builder = TODO()
    }
}

abstract class ProductDetails {
    abstract val productId: String
    abstract val subscriptionOfferDetails: List<SubscriptionOfferDetails>?

    abstract class SubscriptionOfferDetails {
        abstract val basePlanId: String
        abstract val offerId: String?
        abstract val offerToken: String
    }
}

abstract class Purchase {
    object PurchaseState {
        const val PURCHASED = 1
    }

    abstract class PendingPurchaseUpdate

    abstract val products: List<String>
    abstract val purchaseToken: String
    abstract val purchaseState: Int
    abstract val isSuspended: Boolean
    abstract val pendingPurchaseUpdate: PendingPurchaseUpdate?
}

class BillingFlowParams {
    class ProductDetailsParams {
        class SubscriptionProductReplacementParams {
            object ReplacementMode {
                const val CHARGE_PRORATED_PRICE = 2
                const val WITHOUT_PRORATION = 3
                const val CHARGE_FULL_PRICE = 4
                const val DEFERRED = 5
            }

            abstract class Builder {
                abstract fun setOldProductId(id: String): Builder
                abstract fun setReplacementMode(mode: Int): Builder
                abstract fun build(): SubscriptionProductReplacementParams
            }

            companion object {
                fun newBuilder(): Builder = TODO()
            }
        }

        abstract class Builder {
            abstract fun setProductDetails(details: ProductDetails): Builder
            abstract fun setOfferToken(token: String): Builder
            abstract fun setSubscriptionProductReplacementParams(params: SubscriptionProductReplacementParams): Builder
            abstract fun build(): ProductDetailsParams
        }

        companion object {
            fun newBuilder(): Builder = TODO()
        }
    }

    class SubscriptionUpdateParams {
        abstract class Builder {
            abstract fun setOldPurchaseToken(token: String): Builder
            abstract fun build(): SubscriptionUpdateParams
        }

        companion object {
            fun newBuilder(): Builder = TODO()
        }
    }

    abstract class Builder {
        abstract fun setObfuscatedAccountId(id: String): Builder
        abstract fun setSubscriptionUpdateParams(params: SubscriptionUpdateParams): Builder
        abstract fun setProductDetailsParamsList(params: List<ProductDetailsParams>): Builder
        abstract fun build(): BillingFlowParams
    }

    companion object {
        fun newBuilder(): Builder = TODO()
    }
}
