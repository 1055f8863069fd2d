// The models of Homeport 0.1.0, generated from the server's schemas. Later servers only add members.
package homeport

import java.time.Instant
import java.time.ZoneOffset
import java.time.format.DateTimeFormatter
import org.json.JSONArray
import org.json.JSONObject

/** A member of a change: `Nullable(null)` restores the default, and an omitted member stays unchanged. */
data class Nullable<out T>(val value: T?)

private val TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC)

private fun toJson(time: Instant): String = TIME.format(time)

private fun <T> listFrom(array: JSONArray, item: (Int) -> T): List<T> = List(array.length(), item)

private fun <T> mapFrom(json: JSONObject, value: (String) -> T): Map<String, T> =
    json.keys().asSequence().map { it as String }.associateWith(value)

private fun arrayOfJson(items: List<Any?>): JSONArray = JSONArray().apply { items.forEach { put(it ?: JSONObject.NULL) } }

private fun objectOfJson(values: Map<String, Any?>): JSONObject =
    JSONObject().apply { values.forEach { (name, value) -> put(name, value ?: JSONObject.NULL) } }

/** A subscription that continues at its store. */
data class ActiveSubscription(
    /** The store. */
    val store: String? = null,
    /** The product at the store. */
    val productId: String? = null,
    /** When the period ends, ISO 8601. */
    val expiresAt: String? = null,
    /** Whether the store keeps charging. */
    val willRenew: Boolean,
    /** Where to cancel; null: where it was bought. */
    val managementUrl: String? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("store", store)
        .put("productId", productId)
        .put("expiresAt", expiresAt)
        .put("willRenew", willRenew)
        .put("managementUrl", managementUrl)

    companion object {
        fun from(json: JSONObject): ActiveSubscription = ActiveSubscription(
            store = if (json.isNull("store")) null else json.getString("store"),
            productId = if (json.isNull("productId")) null else json.getString("productId"),
            expiresAt = if (json.isNull("expiresAt")) null else json.getString("expiresAt"),
            willRenew = json.getBoolean("willRenew"),
            managementUrl = if (json.isNull("managementUrl")) null else json.getString("managementUrl"),
        )
    }
}

/** The settings of the app, evaluated for the device and the user. */
data class AppSettings(
    /** The e-mail address where users get help. */
    val supportEmail: String,
    /** The app in the Play Store. */
    val playStoreLink: String,
    /** The app in the App Store. */
    val appStoreLink: String,
    /** The terms of use. */
    val termsUrl: String,
    /** The privacy policy. */
    val privacyUrl: String,
    /** The versions of the app on one platform. */
    val ios: AppVersions,
    /** The versions of the app on one platform. */
    val android: AppVersions,
    /** Whether apps ask users to come back later. */
    val underMaintenance: Boolean,
    /** Whether apps require a subscription. */
    val hardPaywall: Boolean,
    /** Custom settings of this app, evaluated for the request; absent if there are none. */
    val features: Map<String, Any>? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("supportEmail", supportEmail)
        .put("playStoreLink", playStoreLink)
        .put("appStoreLink", appStoreLink)
        .put("termsUrl", termsUrl)
        .put("privacyUrl", privacyUrl)
        .put("ios", ios.toJson())
        .put("android", android.toJson())
        .put("underMaintenance", underMaintenance)
        .put("hardPaywall", hardPaywall)
        .put("features", features?.let { objectOfJson(it) })

    companion object {
        fun from(json: JSONObject): AppSettings = AppSettings(
            supportEmail = json.getString("supportEmail"),
            playStoreLink = json.getString("playStoreLink"),
            appStoreLink = json.getString("appStoreLink"),
            termsUrl = json.getString("termsUrl"),
            privacyUrl = json.getString("privacyUrl"),
            ios = AppVersions.from(json.getJSONObject("ios")),
            android = AppVersions.from(json.getJSONObject("android")),
            underMaintenance = json.getBoolean("underMaintenance"),
            hardPaywall = json.getBoolean("hardPaywall"),
            features = if (json.isNull("features")) null else json.getJSONObject("features").let { map -> mapFrom(map) { map.get(it) } },
        )
    }
}

/** A purchase in the App Store. */
data class AppStorePurchase(
    /** The store: `app_store`. */
    val store: String = "app_store",
    /** The transaction as StoreKit signed it (`jwsRepresentation`). */
    val signedTransaction: String,
) : SubmittedPurchase {
    override fun toJson(): JSONObject = JSONObject()
        .put("store", store)
        .put("signedTransaction", signedTransaction)

    companion object {
        fun from(json: JSONObject): AppStorePurchase = AppStorePurchase(
            signedTransaction = json.getString("signedTransaction"),
        )
    }
}

/** The versions of the app on one platform. */
data class AppVersions(
    /** The newest version in the store; older apps offer the update. */
    val latestVersion: String,
    /** Its build number; compared only in apps of the same version. */
    val latestBuildNumber: Long,
    /** The oldest supported version; older apps must be updated. */
    val supportedVersion: String,
    /** Its build number; compared only in apps of the same version. */
    val supportedBuildNumber: Long,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("latestVersion", latestVersion)
        .put("latestBuildNumber", latestBuildNumber)
        .put("supportedVersion", supportedVersion)
        .put("supportedBuildNumber", supportedBuildNumber)

    companion object {
        fun from(json: JSONObject): AppVersions = AppVersions(
            latestVersion = json.getString("latestVersion"),
            latestBuildNumber = json.getLong("latestBuildNumber"),
            supportedVersion = json.getString("supportedVersion"),
            supportedBuildNumber = json.getLong("supportedBuildNumber"),
        )
    }
}

/** A stored file. */
data class Attachment(
    /** Identifies the file. */
    val key: String,
    /** As sent, cleaned, with the extension of the stored type. */
    val fileName: String,
    /** Media type of the stored file. */
    val itemType: String,
    /** The URL of the file: permanent for a public one, valid for 15 minutes for a private one. */
    val url: String,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("key", key)
        .put("fileName", fileName)
        .put("itemType", itemType)
        .put("url", url)

    companion object {
        fun from(json: JSONObject): Attachment = Attachment(
            key = json.getString("key"),
            fileName = json.getString("fileName"),
            itemType = json.getString("itemType"),
            url = json.getString("url"),
        )
    }
}

/** The details of a file. */
data class AttachmentDetails(
    /** Identifies the file. */
    val key: String,
    /** As sent, cleaned, with the extension of the stored type. */
    val fileName: String,
    /** Media type of the stored file. */
    val itemType: String,
    /** Bytes of the stored file. */
    val size: Long,
    /** In pixels; only for images. */
    val width: Long? = null,
    /** In pixels; only for images. */
    val height: Long? = null,
    /** The URL of the file: permanent for a public one, valid for 15 minutes for a private one. */
    val url: String,
    /** When `url` expires; null for a public file. */
    val expiresAt: Instant? = null,
    /** When it was stored. */
    val createdAt: Instant,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("key", key)
        .put("fileName", fileName)
        .put("itemType", itemType)
        .put("size", size)
        .put("width", width)
        .put("height", height)
        .put("url", url)
        .put("expiresAt", expiresAt?.let { toJson(it) })
        .put("createdAt", toJson(createdAt))

    companion object {
        fun from(json: JSONObject): AttachmentDetails = AttachmentDetails(
            key = json.getString("key"),
            fileName = json.getString("fileName"),
            itemType = json.getString("itemType"),
            size = json.getLong("size"),
            width = if (json.isNull("width")) null else json.getLong("width"),
            height = if (json.isNull("height")) null else json.getLong("height"),
            url = json.getString("url"),
            expiresAt = if (json.isNull("expiresAt")) null else Instant.parse(json.getString("expiresAt")),
            createdAt = Instant.parse(json.getString("createdAt")),
        )
    }
}

/** A page on which the user pays. */
data class Checkout(
    /** Stripe’s page. */
    val url: String,
    /** The id of the checkout session. */
    val sessionId: String,
    /** When the page expires. */
    val expiresAt: Instant,
    /** The length of the free trial; 0 for none. */
    val trialDays: Long,
    /** When access from elsewhere that does not renew ends; null for none. */
    val overlapUntil: Instant? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("url", url)
        .put("sessionId", sessionId)
        .put("expiresAt", toJson(expiresAt))
        .put("trialDays", trialDays)
        .put("overlapUntil", overlapUntil?.let { toJson(it) })

    companion object {
        fun from(json: JSONObject): Checkout = Checkout(
            url = json.getString("url"),
            sessionId = json.getString("sessionId"),
            expiresAt = Instant.parse(json.getString("expiresAt")),
            trialDays = json.getLong("trialDays"),
            overlapUntil = if (json.isNull("overlapUntil")) null else Instant.parse(json.getString("overlapUntil")),
        )
    }
}

/** A plan to sell by card. */
data class CheckoutRequest(
    /** The `code` of the plan. */
    val plan: String,
    /** Where the user returns after paying; Stripe adds `session_id`. */
    val successUrl: String,
    /** Where the user returns without paying. */
    val cancelUrl: String,
    /** How many units, such as seats. */
    val quantity: Long? = null,
    /** The sandbox for tests; production by default. */
    val environment: String? = null,
    /** Sell although a subscription in another store renews; ask the user first. */
    val allowSecond: Boolean? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("plan", plan)
        .put("successUrl", successUrl)
        .put("cancelUrl", cancelUrl)
        .put("quantity", quantity)
        .put("environment", environment)
        .put("allowSecond", allowSecond)

    companion object {
        fun from(json: JSONObject): CheckoutRequest = CheckoutRequest(
            plan = json.getString("plan"),
            successUrl = json.getString("successUrl"),
            cancelUrl = json.getString("cancelUrl"),
            quantity = if (json.isNull("quantity")) null else json.getLong("quantity"),
            environment = if (json.isNull("environment")) null else json.getString("environment"),
            allowSecond = if (json.isNull("allowSecond")) null else json.getBoolean("allowSecond"),
        )
    }
}

/** A version counter per kind of content: read the content again when its counter increases. */
data class ContentVersions(
    /** Increases with every edit to the settings. */
    val appSetting: Long,
    /** Increases with every edit to the FAQs. */
    val faqs: Long,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("appSetting", appSetting)
        .put("faqs", faqs)

    companion object {
        fun from(json: JSONObject): ContentVersions = ContentVersions(
            appSetting = json.getLong("appSetting"),
            faqs = json.getLong("faqs"),
        )
    }
}

/** E-mail address and password for a sign-in. */
data class Credentials(
    /** Case-insensitive, shown as typed. */
    val email: String,
    /** Used as typed, in any Unicode normalization form. */
    val password: String,
) {
    override fun toString(): String = "Credentials"

    fun toJson(): JSONObject = JSONObject()
        .put("email", email)
        .put("password", password)

    companion object {
        fun from(json: JSONObject): Credentials = Credentials(
            email = json.getString("email"),
            password = json.getString("password"),
        )
    }
}

/** Currency rates. */
data class CurrencyRates(
    /** ISO 4217, upper case. */
    val baseCode: String,
    /** Units of each currency (ISO 4217, upper case) for one unit of the base, which is included as 1. */
    val rates: Map<String, Double>,
    /** When the provider published them. */
    val updatedAt: Instant,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("baseCode", baseCode)
        .put("rates", objectOfJson(rates))
        .put("updatedAt", toJson(updatedAt))

    companion object {
        fun from(json: JSONObject): CurrencyRates = CurrencyRates(
            baseCode = json.getString("baseCode"),
            rates = json.getJSONObject("rates").let { map -> mapFrom(map) { map.getDouble(it) } },
            updatedAt = Instant.parse(json.getString("updatedAt")),
        )
    }
}

/** A signed-in device. */
data class Device(
    /** Id of the session (UUIDv7). */
    val id: String,
    /** The name the device reports. */
    val device: String,
    /** When it signed in. */
    val createdAt: Instant,
    /** When it was last used. */
    val lastUsedAt: Instant,
    /** Whether this request came from it. */
    val current: Boolean,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("_id", id)
        .put("device", device)
        .put("createdAt", toJson(createdAt))
        .put("lastUsedAt", toJson(lastUsedAt))
        .put("current", current)

    companion object {
        fun from(json: JSONObject): Device = Device(
            id = json.getString("_id"),
            device = json.getString("device"),
            createdAt = Instant.parse(json.getString("createdAt")),
            lastUsedAt = Instant.parse(json.getString("lastUsedAt")),
            current = json.getBoolean("current"),
        )
    }
}

/** The code that the user has entered. */
data class EmailCodeAnswer(
    /** From the response to the request for the code. */
    val requestToken: String,
    /** Six digits. */
    val code: String,
    /** The user’s name. */
    val name: String? = null,
) {
    override fun toString(): String = "EmailCodeAnswer"

    fun toJson(): JSONObject = JSONObject()
        .put("requestToken", requestToken)
        .put("code", code)
        .put("name", name)

    companion object {
        fun from(json: JSONObject): EmailCodeAnswer = EmailCodeAnswer(
            requestToken = json.getString("requestToken"),
            code = json.getString("code"),
            name = if (json.isNull("name")) null else json.getString("name"),
        )
    }
}

/** A code is on its way, if the address can receive one. */
data class EmailCodeRequest(
    /** Send it with the code, which works only on this device. */
    val requestToken: String,
    /** Seconds until the code expires. */
    val expiresIn: Long,
) {
    override fun toString(): String = "EmailCodeRequest"

    fun toJson(): JSONObject = JSONObject()
        .put("requestToken", requestToken)
        .put("expiresIn", expiresIn)

    companion object {
        fun from(json: JSONObject): EmailCodeRequest = EmailCodeRequest(
            requestToken = json.getString("requestToken"),
            expiresIn = json.getLong("expiresIn"),
        )
    }
}

/** An entitlement that a purchase grants. */
data class Entitlement(
    /** The id at the billing provider, such as `pro`. */
    val id: String,
    /** Whether the user has access now. */
    val active: Boolean,
    /** When access ends; null: never. */
    val expiresAt: Instant? = null,
    /** When the grace period after a failed payment ends; null: there is none. */
    val gracePeriodExpiresAt: Instant? = null,
    /** The product at the store. */
    val productId: String? = null,
    /** The store: `APP_STORE`, `MAC_APP_STORE`, `PLAY_STORE`, `AMAZON`, `STRIPE`, `RC_BILLING`, `PROMOTIONAL`. Later versions may add others. */
    val store: String? = null,
    /** The type of the current period: `NORMAL`, `TRIAL`, `INTRO`, `PROMOTIONAL`, `PREPAID`, `CONSUMABLE`. Later versions may add others. */
    val periodType: String? = null,
    /** Whether it renews automatically. */
    val willRenew: Boolean,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("id", id)
        .put("active", active)
        .put("expiresAt", expiresAt?.let { toJson(it) })
        .put("gracePeriodExpiresAt", gracePeriodExpiresAt?.let { toJson(it) })
        .put("productId", productId)
        .put("store", store)
        .put("periodType", periodType)
        .put("willRenew", willRenew)

    companion object {
        fun from(json: JSONObject): Entitlement = Entitlement(
            id = json.getString("id"),
            active = json.getBoolean("active"),
            expiresAt = if (json.isNull("expiresAt")) null else Instant.parse(json.getString("expiresAt")),
            gracePeriodExpiresAt = if (json.isNull("gracePeriodExpiresAt")) null else Instant.parse(json.getString("gracePeriodExpiresAt")),
            productId = if (json.isNull("productId")) null else json.getString("productId"),
            store = if (json.isNull("store")) null else json.getString("store"),
            periodType = if (json.isNull("periodType")) null else json.getString("periodType"),
            willRenew = json.getBoolean("willRenew"),
        )
    }
}

/** A question with its answer, in one language. */
data class Faq(
    /** Id of the question (UUIDv7). */
    val id: String,
    /** The question in the user’s words. */
    val question: String,
    /** Plain text. */
    val answer: String,
    /** The group it is listed in. */
    val category: String,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("_id", id)
        .put("question", question)
        .put("answer", answer)
        .put("category", category)

    companion object {
        fun from(json: JSONObject): Faq = Faq(
            id = json.getString("_id"),
            question = json.getString("question"),
            answer = json.getString("answer"),
            category = json.getString("category"),
        )
    }
}

/** What a user has used of a limit. */
data class LimitUsage(
    /** The name of a limit of a plan, such as `aiMonthlyCreditLimit`. */
    val name: String,
    /** The period that the limit is for: `month`, `day`, `total`. Later versions may add others. */
    val period: String,
    /** Used in the current period. */
    val used: Long,
    /** The limit of the plan; null: unlimited. */
    val limit: Long? = null,
    /** What is left; null: unlimited. */
    val remaining: Long? = null,
    /** When the next period begins; null: never. */
    val resetsAt: Instant? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("name", name)
        .put("period", period)
        .put("used", used)
        .put("limit", limit)
        .put("remaining", remaining)
        .put("resetsAt", resetsAt?.let { toJson(it) })

    companion object {
        fun from(json: JSONObject): LimitUsage = LimitUsage(
            name = json.getString("name"),
            period = json.getString("period"),
            used = json.getLong("used"),
            limit = if (json.isNull("limit")) null else json.getLong("limit"),
            remaining = if (json.isNull("remaining")) null else json.getLong("remaining"),
            resetsAt = if (json.isNull("resetsAt")) null else Instant.parse(json.getString("resetsAt")),
        )
    }
}

/** A file in a list of files. */
data class ListedAttachment(
    /** Identifies the file. */
    val key: String,
    /** As sent, cleaned, with the extension of the stored type. */
    val fileName: String,
    /** Media type of the stored file. */
    val itemType: String,
    /** The URL of the file: permanent for a public one, valid for 15 minutes for a private one. */
    val url: String,
    /** The `type` of its upload: `supportTicket`, `publicAsset`. Later versions may add others. */
    val type: String,
    /** Bytes of the stored file. */
    val size: Long,
    /** When `url` expires; null for a public file. */
    val expiresAt: Instant? = null,
    /** When it was stored. */
    val createdAt: Instant,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("key", key)
        .put("fileName", fileName)
        .put("itemType", itemType)
        .put("url", url)
        .put("type", type)
        .put("size", size)
        .put("expiresAt", expiresAt?.let { toJson(it) })
        .put("createdAt", toJson(createdAt))

    companion object {
        fun from(json: JSONObject): ListedAttachment = ListedAttachment(
            key = json.getString("key"),
            fileName = json.getString("fileName"),
            itemType = json.getString("itemType"),
            url = json.getString("url"),
            type = json.getString("type"),
            size = json.getLong("size"),
            expiresAt = if (json.isNull("expiresAt")) null else Instant.parse(json.getString("expiresAt")),
            createdAt = Instant.parse(json.getString("createdAt")),
        )
    }
}

/** The data for a new account. */
data class NewAccount(
    /** An e-mail address, case-insensitive, shown as typed. */
    val email: String,
    /** 8 to 256 characters, and not a common one. */
    val password: String,
    /** The user’s name. */
    val name: String? = null,
    /** The `token` from the link in an invitation; needed with `SIGN_UP=invite`. */
    val invitation: String? = null,
) {
    override fun toString(): String = "NewAccount"

    fun toJson(): JSONObject = JSONObject()
        .put("email", email)
        .put("password", password)
        .put("name", name)
        .put("invitation", invitation)

    companion object {
        fun from(json: JSONObject): NewAccount = NewAccount(
            email = json.getString("email"),
            password = json.getString("password"),
            name = if (json.isNull("name")) null else json.getString("name"),
            invitation = if (json.isNull("invitation")) null else json.getString("invitation"),
        )
    }
}

/** A passkey of the user. */
data class Passkey(
    /** The id of the passkey. */
    val id: String,
    /** A name by which the user recognizes the passkey. */
    val name: String,
    /** When it was added. */
    val createdAt: Instant,
    /** When it was last used; null for never. */
    val lastUsedAt: Instant? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("_id", id)
        .put("name", name)
        .put("createdAt", toJson(createdAt))
        .put("lastUsedAt", lastUsedAt?.let { toJson(it) })

    companion object {
        fun from(json: JSONObject): Passkey = Passkey(
            id = json.getString("_id"),
            name = json.getString("name"),
            createdAt = Instant.parse(json.getString("createdAt")),
            lastUsedAt = if (json.isNull("lastUsedAt")) null else Instant.parse(json.getString("lastUsedAt")),
        )
    }
}

/** The limits of the plan. */
data class PlanLimits(
    /** Users. */
    val seatLimit: Long,
    /** Apps. */
    val appLimit: Long,
    /** Keywords. */
    val keywordLimit: Long,
    /** API requests per month. */
    val apiRequestLimit: Long,
    /** Competitors per app. */
    val competitorLimitPerApp: Long,
    /** AI credits per month. */
    val aiMonthlyCreditLimit: Long,
    /** Storefronts. */
    val storefrontLimit: Long,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("seatLimit", seatLimit)
        .put("appLimit", appLimit)
        .put("keywordLimit", keywordLimit)
        .put("apiRequestLimit", apiRequestLimit)
        .put("competitorLimitPerApp", competitorLimitPerApp)
        .put("aiMonthlyCreditLimit", aiMonthlyCreditLimit)
        .put("storefrontLimit", storefrontLimit)

    companion object {
        fun from(json: JSONObject): PlanLimits = PlanLimits(
            seatLimit = json.getLong("seatLimit"),
            appLimit = json.getLong("appLimit"),
            keywordLimit = json.getLong("keywordLimit"),
            apiRequestLimit = json.getLong("apiRequestLimit"),
            competitorLimitPerApp = json.getLong("competitorLimitPerApp"),
            aiMonthlyCreditLimit = json.getLong("aiMonthlyCreditLimit"),
            storefrontLimit = json.getLong("storefrontLimit"),
        )
    }
}

/** A purchase on Google Play. */
data class PlayStorePurchase(
    /** The store: `play_store`. */
    val store: String = "play_store",
    /** The package name of the app. */
    val packageName: String,
    /** The purchase token that Play Billing gave the app. */
    val purchaseToken: String,
    /** The product. */
    val productId: String? = null,
    /** Whether it is a subscription or a one-time product. */
    val kind: String? = null,
) : SubmittedPurchase {
    override fun toJson(): JSONObject = JSONObject()
        .put("store", store)
        .put("packageName", packageName)
        .put("purchaseToken", purchaseToken)
        .put("productId", productId)
        .put("kind", kind)

    companion object {
        fun from(json: JSONObject): PlayStorePurchase = PlayStorePurchase(
            packageName = json.getString("packageName"),
            purchaseToken = json.getString("purchaseToken"),
            productId = if (json.isNull("productId")) null else json.getString("productId"),
            kind = if (json.isNull("kind")) null else json.getString("kind"),
        )
    }
}

/** A visit to the customer portal. */
data class PortalRequest(
    /** Where the user returns. */
    val returnUrl: String,
    /** What the page begins with; an overview by default. */
    val flow: String? = null,
    /** The sandbox for tests; production by default. */
    val environment: String? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("returnUrl", returnUrl)
        .put("flow", flow)
        .put("environment", environment)

    companion object {
        fun from(json: JSONObject): PortalRequest = PortalRequest(
            returnUrl = json.getString("returnUrl"),
            flow = if (json.isNull("flow")) null else json.getString("flow"),
            environment = if (json.isNull("environment")) null else json.getString("environment"),
        )
    }
}

/** A pricing plan in one language. */
data class PricingPlan(
    /** Id of the plan (UUIDv7). */
    val id: String,
    /** The id of the plan; never change it. */
    val code: String,
    /** The name that users see. */
    val name: String,
    /** The kind of plan. */
    val type: String,
    /** The billing period: `month`, `3 months`, `P1Y`, `lifetime` and so on. */
    val duration: String,
    /** Where it is sold. */
    val source: String,
    /** The product at the store or the billing provider; empty for none. */
    val paymentProductId: String,
    /** The price at the billing provider; empty for none. */
    val paymentPriceId: String,
    /** Length of the free trial. */
    val trialDays: Long,
    /** What the plan unlocks. */
    val capabilities: List<String>,
    /** How many users may share it. */
    val seatLimit: Long,
    /** Apps. */
    val appLimit: Long,
    /** Keywords. */
    val keywordLimit: Long,
    /** API requests per month. */
    val apiRequestLimit: Long,
    /** Competitors per app. */
    val competitorLimitPerApp: Long,
    /** AI credits per month. */
    val aiMonthlyCreditLimit: Long,
    /** Storefronts. */
    val storefrontLimit: Long,
    /** In `currency`. */
    val price: Double,
    /** ISO 4217, in upper or lower case; responses have lower case. */
    val currency: String,
    /** Whether it is sold by the sales team. */
    val isEnterprise: Boolean,
    /** One sentence about it. */
    val description: String,
    /** A short label such as Popular; empty for none. */
    val badge: String,
    /** Whether apps highlight it. */
    val highlighted: Boolean,
    /** What the plan includes, line by line. */
    val features: List<String>,
    /** Additional product ids for this plan, for example in other stores. */
    val otherProductIds: List<String>? = null,
    /** The entitlements that purchases from stores grant; the code of the plan if absent. */
    val entitlementIds: List<String>? = null,
    /** Every limit of the plan by name; null: unlimited. */
    val limits: Map<String, Long?>,
    /** The periods of the custom limits; `month` if absent. */
    val limitPeriods: Map<String, String>? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("_id", id)
        .put("code", code)
        .put("name", name)
        .put("type", type)
        .put("duration", duration)
        .put("source", source)
        .put("paymentProductId", paymentProductId)
        .put("paymentPriceId", paymentPriceId)
        .put("trialDays", trialDays)
        .put("capabilities", arrayOfJson(capabilities.map { it }))
        .put("seatLimit", seatLimit)
        .put("appLimit", appLimit)
        .put("keywordLimit", keywordLimit)
        .put("apiRequestLimit", apiRequestLimit)
        .put("competitorLimitPerApp", competitorLimitPerApp)
        .put("aiMonthlyCreditLimit", aiMonthlyCreditLimit)
        .put("storefrontLimit", storefrontLimit)
        .put("price", price)
        .put("currency", currency)
        .put("isEnterprise", isEnterprise)
        .put("description", description)
        .put("badge", badge)
        .put("highlighted", highlighted)
        .put("features", arrayOfJson(features.map { it }))
        .put("otherProductIds", otherProductIds?.let { arrayOfJson(it.map { it }) })
        .put("entitlementIds", entitlementIds?.let { arrayOfJson(it.map { it }) })
        .put("limits", objectOfJson(limits))
        .put("limitPeriods", limitPeriods?.let { objectOfJson(it) })

    companion object {
        fun from(json: JSONObject): PricingPlan = PricingPlan(
            id = json.getString("_id"),
            code = json.getString("code"),
            name = json.getString("name"),
            type = json.getString("type"),
            duration = json.getString("duration"),
            source = json.getString("source"),
            paymentProductId = json.getString("paymentProductId"),
            paymentPriceId = json.getString("paymentPriceId"),
            trialDays = json.getLong("trialDays"),
            capabilities = json.getJSONArray("capabilities").let { list -> listFrom(list) { list.getString(it) } },
            seatLimit = json.getLong("seatLimit"),
            appLimit = json.getLong("appLimit"),
            keywordLimit = json.getLong("keywordLimit"),
            apiRequestLimit = json.getLong("apiRequestLimit"),
            competitorLimitPerApp = json.getLong("competitorLimitPerApp"),
            aiMonthlyCreditLimit = json.getLong("aiMonthlyCreditLimit"),
            storefrontLimit = json.getLong("storefrontLimit"),
            price = json.getDouble("price"),
            currency = json.getString("currency"),
            isEnterprise = json.getBoolean("isEnterprise"),
            description = json.getString("description"),
            badge = json.getString("badge"),
            highlighted = json.getBoolean("highlighted"),
            features = json.getJSONArray("features").let { list -> listFrom(list) { list.getString(it) } },
            otherProductIds = if (json.isNull("otherProductIds")) null else json.getJSONArray("otherProductIds").let { list -> listFrom(list) { list.getString(it) } },
            entitlementIds = if (json.isNull("entitlementIds")) null else json.getJSONArray("entitlementIds").let { list -> listFrom(list) { list.getString(it) } },
            limits = json.getJSONObject("limits").let { map -> mapFrom(map) { if (map.isNull(it)) null else map.getLong(it) } },
            limitPeriods = if (json.isNull("limitPeriods")) null else json.getJSONObject("limitPeriods").let { map -> mapFrom(map) { map.getString(it) } },
        )
    }
}

/** Absent fields stay; null restores the default. */
data class ProfileChanges(
    /** Absent fields stay; null restores every default. */
    val profile: Nullable<Profile>? = null,
    /** Null restores false. */
    val onboardingCompleted: Nullable<Boolean>? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("profile", profile?.let { change -> change.value?.let { it.toJson() } ?: JSONObject.NULL })
        .put("onboardingCompleted", onboardingCompleted?.let { change -> change.value ?: JSONObject.NULL })

    companion object {
        fun from(json: JSONObject): ProfileChanges = ProfileChanges(
            profile = if (json.has("profile")) Nullable(if (json.isNull("profile")) null else Profile.from(json.getJSONObject("profile"))) else null,
            onboardingCompleted = if (json.has("onboardingCompleted")) Nullable(if (json.isNull("onboardingCompleted")) null else json.getBoolean("onboardingCompleted")) else null,
        )
    }

    /** Absent fields stay; null restores every default. */
    data class Profile(
        /** Up to 100 characters; null clears it. */
        val name: Nullable<String>? = null,
        /** BCP 47; null takes it from the request headers. */
        val locale: Nullable<String>? = null,
        /** IANA, in upper or lower case, or an offset; null takes it from the request headers. */
        val timezone: Nullable<String>? = null,
        /** ISO 4217, in upper or lower case; null restores usd. */
        val currency: Nullable<String>? = null,
        /** The key of one of the user’s public images; null removes it. */
        val avatarKey: Nullable<String>? = null,
    ) {
        fun toJson(): JSONObject = JSONObject()
            .put("name", name?.let { change -> change.value ?: JSONObject.NULL })
            .put("locale", locale?.let { change -> change.value ?: JSONObject.NULL })
            .put("timezone", timezone?.let { change -> change.value ?: JSONObject.NULL })
            .put("currency", currency?.let { change -> change.value ?: JSONObject.NULL })
            .put("avatarKey", avatarKey?.let { change -> change.value ?: JSONObject.NULL })

        companion object {
            fun from(json: JSONObject): Profile = Profile(
                name = if (json.has("name")) Nullable(if (json.isNull("name")) null else json.getString("name")) else null,
                locale = if (json.has("locale")) Nullable(if (json.isNull("locale")) null else json.getString("locale")) else null,
                timezone = if (json.has("timezone")) Nullable(if (json.isNull("timezone")) null else json.getString("timezone")) else null,
                currency = if (json.has("currency")) Nullable(if (json.isNull("currency")) null else json.getString("currency")) else null,
                avatarKey = if (json.has("avatarKey")) Nullable(if (json.isNull("avatarKey")) null else json.getString("avatarKey")) else null,
            )
        }
    }
}

/** The result for a submitted purchase. */
data class PurchaseResult(
    /** The outcome: `bound` and `known` mean that the user has the purchase, newly or already; finish the transaction then. `checking`: the store cannot be queried now; the server keeps trying for three days. `pending`: the purchase is not paid yet: `bound`, `known`, `checking`, `pending`, `refused`. Later versions may add others. */
    val outcome: String,
    /** Why it is refused: `purchase_of_another`, `purchase_invalid`, `purchase_of_other_app`, `purchase_gone`, `sandbox_ignored`, `store_not_set_up`. Later versions may add others. */
    val code: String? = null,
    /** When `takeOver` can first move another user’s purchase; null: never. */
    val canTakeOverAt: Instant? = null,
    /** The id of the transaction at the store. */
    val transactionId: String? = null,
    /** Production or test purchases: `production`, `sandbox`. Later versions may add others. */
    val environment: String? = null,
    /** The product at the store. */
    val productId: String? = null,
    /** When the period of the transaction ends; null: never, or unknown. */
    val expiresAt: Instant? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("outcome", outcome)
        .put("code", code)
        .put("canTakeOverAt", canTakeOverAt?.let { toJson(it) })
        .put("transactionId", transactionId)
        .put("environment", environment)
        .put("productId", productId)
        .put("expiresAt", expiresAt?.let { toJson(it) })

    companion object {
        fun from(json: JSONObject): PurchaseResult = PurchaseResult(
            outcome = json.getString("outcome"),
            code = if (json.isNull("code")) null else json.getString("code"),
            canTakeOverAt = if (json.isNull("canTakeOverAt")) null else Instant.parse(json.getString("canTakeOverAt")),
            transactionId = if (json.isNull("transactionId")) null else json.getString("transactionId"),
            environment = if (json.isNull("environment")) null else json.getString("environment"),
            productId = if (json.isNull("productId")) null else json.getString("productId"),
            expiresAt = if (json.isNull("expiresAt")) null else Instant.parse(json.getString("expiresAt")),
        )
    }
}

/** Codes that replace the authenticator app. */
data class RecoveryCodes(
    /** Ten single-use codes; they are not shown again. */
    val recoveryCodes: List<String>,
) {
    override fun toString(): String = "RecoveryCodes"

    fun toJson(): JSONObject = JSONObject()
        .put("recoveryCodes", arrayOfJson(recoveryCodes.map { it }))

    companion object {
        fun from(json: JSONObject): RecoveryCodes = RecoveryCodes(
            recoveryCodes = json.getJSONArray("recoveryCodes").let { list -> listFrom(list) { list.getString(it) } },
        )
    }
}

/** A device’s tokens and the signed-in user. */
data class Session(
    /** JWT (RFC 9068), signed with ES256: `Authorization: Bearer <accessToken>`. */
    val accessToken: String,
    /** Opaque; replaced with every use. */
    val refreshToken: String,
    /** The scheme of the access token: `Bearer`. Later versions may add others. */
    val tokenType: String,
    /** Seconds until the access token expires. */
    val expiresIn: Long,
    /** A user. */
    val user: UserProfile,
) {
    override fun toString(): String = "Session"

    fun toJson(): JSONObject = JSONObject()
        .put("accessToken", accessToken)
        .put("refreshToken", refreshToken)
        .put("tokenType", tokenType)
        .put("expiresIn", expiresIn)
        .put("user", user.toJson())

    companion object {
        fun from(json: JSONObject): Session = Session(
            accessToken = json.getString("accessToken"),
            refreshToken = json.getString("refreshToken"),
            tokenType = json.getString("tokenType"),
            expiresIn = json.getLong("expiresIn"),
            user = UserProfile.from(json.getJSONObject("user")),
        )
    }
}

/** The data for a sign-in with an identity provider. */
data class SocialLogin(
    /** The identity provider; `oidc` is the OpenID Connect provider of the server’s configuration. */
    val provider: String,
    /** The id token (JWT) that the provider gave the app. */
    val idToken: String,
    /** The nonce that the app passed to the provider, before hashing; optional unless the server requires it. */
    val nonce: String? = null,
    /** The user’s name, cut to 100 characters; Apple sends it only at the first sign-in. */
    val name: String? = null,
    /** From Apple; needed to revoke the grant when the account is deleted. */
    val authorizationCode: String? = null,
    /** The redirect URI of the code, if it was issued to a Services ID of Apple. */
    val redirectUri: String? = null,
    /** Needed if two-factor is on: an authenticator code, or a recovery code. */
    val code: String? = null,
) {
    override fun toString(): String = "SocialLogin"

    fun toJson(): JSONObject = JSONObject()
        .put("provider", provider)
        .put("idToken", idToken)
        .put("nonce", nonce)
        .put("name", name)
        .put("authorizationCode", authorizationCode)
        .put("redirectUri", redirectUri)
        .put("code", code)

    companion object {
        fun from(json: JSONObject): SocialLogin = SocialLogin(
            provider = json.getString("provider"),
            idToken = json.getString("idToken"),
            nonce = if (json.isNull("nonce")) null else json.getString("nonce"),
            name = if (json.isNull("name")) null else json.getString("name"),
            authorizationCode = if (json.isNull("authorizationCode")) null else json.getString("authorizationCode"),
            redirectUri = if (json.isNull("redirectUri")) null else json.getString("redirectUri"),
            code = if (json.isNull("code")) null else json.getString("code"),
        )
    }
}

/** A purchase by card. */
data class StripePurchase(
    /** The store: `stripe`. */
    val store: String = "stripe",
    /** The id of the checkout session, from the address to which the user returned. */
    val sessionId: String,
) : SubmittedPurchase {
    override fun toJson(): JSONObject = JSONObject()
        .put("store", store)
        .put("sessionId", sessionId)

    companion object {
        fun from(json: JSONObject): StripePurchase = StripePurchase(
            sessionId = json.getString("sessionId"),
        )
    }
}

/** A purchase that a store has confirmed to the app. */
sealed interface SubmittedPurchase {
    fun toJson(): JSONObject
}

/** The results, and what the user has paid for now. */
data class SubmittedPurchases(
    /** One result per purchase, in order. */
    val results: List<PurchaseResult>,
    /** What a user has paid for. */
    val subscription: Subscription,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("results", arrayOfJson(results.map { it.toJson() }))
        .put("subscription", subscription.toJson())

    companion object {
        fun from(json: JSONObject): SubmittedPurchases = SubmittedPurchases(
            results = json.getJSONArray("results").let { list -> listFrom(list) { PurchaseResult.from(list.getJSONObject(it)) } },
            subscription = Subscription.from(json.getJSONObject("subscription")),
        )
    }
}

/** What a user has paid for. */
data class Subscription(
    /** Production or test purchases: `production`, `sandbox`. Later versions may add others. */
    val environment: String,
    /** Each entitlement once; check these for access. */
    val entitlements: List<Entitlement>,
    /** The purchases, best first. */
    val subscriptions: List<SubscriptionLine>,
    /** The plan of the best active purchase; without one, the plan `free`, or null if there is none. */
    val plan: PricingPlan? = null,
    /** The limits of the plan; null if there is no plan. */
    val limits: PlanLimits? = null,
    /** The user’s access, signed (JWS); only if requested. */
    val proof: String? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("environment", environment)
        .put("entitlements", arrayOfJson(entitlements.map { it.toJson() }))
        .put("subscriptions", arrayOfJson(subscriptions.map { it.toJson() }))
        .put("plan", plan?.let { it.toJson() })
        .put("limits", limits?.let { it.toJson() })
        .put("proof", proof)

    companion object {
        fun from(json: JSONObject): Subscription = Subscription(
            environment = json.getString("environment"),
            entitlements = json.getJSONArray("entitlements").let { list -> listFrom(list) { Entitlement.from(list.getJSONObject(it)) } },
            subscriptions = json.getJSONArray("subscriptions").let { list -> listFrom(list) { SubscriptionLine.from(list.getJSONObject(it)) } },
            plan = if (json.isNull("plan")) null else PricingPlan.from(json.getJSONObject("plan")),
            limits = if (json.isNull("limits")) null else PlanLimits.from(json.getJSONObject("limits")),
            proof = if (json.isNull("proof")) null else json.getString("proof"),
        )
    }
}

/** A purchase. */
data class SubscriptionLine(
    /** The product at the store. */
    val productId: String? = null,
    /** The price at the billing provider. */
    val priceId: String? = null,
    /** The store: `APP_STORE`, `MAC_APP_STORE`, `PLAY_STORE`, `AMAZON`, `STRIPE`, `RC_BILLING`, `PROMOTIONAL`. Later versions may add others. */
    val store: String? = null,
    /** The status of the purchase: `trialing`, `active`, `in_grace_period`, `in_billing_retry`, `paused`, `expired`, `refunded`, `consumed`. Later versions may add others. */
    val status: String,
    /** The type of the current period: `NORMAL`, `TRIAL`, `INTRO`, `PROMOTIONAL`, `PREPAID`, `CONSUMABLE`. Later versions may add others. */
    val periodType: String? = null,
    /** When the current period began. */
    val purchasedAt: Instant? = null,
    /** When the current period ends; null: never. */
    val expiresAt: Instant? = null,
    /** When access ends, grace and refunds included; null: never. */
    val effectiveEndAt: Instant? = null,
    /** Whether it renews automatically. */
    val willRenew: Boolean,
    /** The product after a pending change. */
    val pendingProductId: String? = null,
    /** Why it was cancelled: `UNSUBSCRIBE`, `BILLING_ERROR`, `DEVELOPER_INITIATED`, `PRICE_INCREASE`, `CUSTOMER_SUPPORT`, `DISPUTED`, `UNKNOWN`. Later versions may add others. */
    val cancelReason: String? = null,
    /** When it was cancelled. */
    val unsubscribeDetectedAt: Instant? = null,
    /** When a payment failed. */
    val billingIssueDetectedAt: Instant? = null,
    /** When it was refunded. */
    val refundedAt: Instant? = null,
    /** When a pause ends. */
    val autoResumeAt: Instant? = null,
    /** A test purchase, which gives access to testers in production. */
    val isSandbox: Boolean? = null,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("productId", productId)
        .put("priceId", priceId)
        .put("store", store)
        .put("status", status)
        .put("periodType", periodType)
        .put("purchasedAt", purchasedAt?.let { toJson(it) })
        .put("expiresAt", expiresAt?.let { toJson(it) })
        .put("effectiveEndAt", effectiveEndAt?.let { toJson(it) })
        .put("willRenew", willRenew)
        .put("pendingProductId", pendingProductId)
        .put("cancelReason", cancelReason)
        .put("unsubscribeDetectedAt", unsubscribeDetectedAt?.let { toJson(it) })
        .put("billingIssueDetectedAt", billingIssueDetectedAt?.let { toJson(it) })
        .put("refundedAt", refundedAt?.let { toJson(it) })
        .put("autoResumeAt", autoResumeAt?.let { toJson(it) })
        .put("isSandbox", isSandbox)

    companion object {
        fun from(json: JSONObject): SubscriptionLine = SubscriptionLine(
            productId = if (json.isNull("productId")) null else json.getString("productId"),
            priceId = if (json.isNull("priceId")) null else json.getString("priceId"),
            store = if (json.isNull("store")) null else json.getString("store"),
            status = json.getString("status"),
            periodType = if (json.isNull("periodType")) null else json.getString("periodType"),
            purchasedAt = if (json.isNull("purchasedAt")) null else Instant.parse(json.getString("purchasedAt")),
            expiresAt = if (json.isNull("expiresAt")) null else Instant.parse(json.getString("expiresAt")),
            effectiveEndAt = if (json.isNull("effectiveEndAt")) null else Instant.parse(json.getString("effectiveEndAt")),
            willRenew = json.getBoolean("willRenew"),
            pendingProductId = if (json.isNull("pendingProductId")) null else json.getString("pendingProductId"),
            cancelReason = if (json.isNull("cancelReason")) null else json.getString("cancelReason"),
            unsubscribeDetectedAt = if (json.isNull("unsubscribeDetectedAt")) null else Instant.parse(json.getString("unsubscribeDetectedAt")),
            billingIssueDetectedAt = if (json.isNull("billingIssueDetectedAt")) null else Instant.parse(json.getString("billingIssueDetectedAt")),
            refundedAt = if (json.isNull("refundedAt")) null else Instant.parse(json.getString("refundedAt")),
            autoResumeAt = if (json.isNull("autoResumeAt")) null else Instant.parse(json.getString("autoResumeAt")),
            isSandbox = if (json.isNull("isSandbox")) null else json.getBoolean("isSandbox"),
        )
    }
}

/** The first step is done; a code is needed. */
data class TwoFactorChallenge(
    /** Valid for this sign-in only. */
    val challengeToken: String,
    /** The accepted two-factor methods. */
    val methods: List<String>,
    /** Seconds until the challenge expires. */
    val expiresIn: Long,
) {
    override fun toString(): String = "TwoFactorChallenge"

    fun toJson(): JSONObject = JSONObject()
        .put("challengeToken", challengeToken)
        .put("methods", arrayOfJson(methods.map { it }))
        .put("expiresIn", expiresIn)

    companion object {
        fun from(json: JSONObject): TwoFactorChallenge = TwoFactorChallenge(
            challengeToken = json.getString("challengeToken"),
            methods = json.getJSONArray("methods").let { list -> listFrom(list) { list.getString(it) } },
            expiresIn = json.getLong("expiresIn"),
        )
    }
}

/** A secret for an authenticator app, in three forms; it takes effect once it is confirmed. */
data class TwoFactorSetup(
    /** Base32, to type into an authenticator app. */
    val secret: String,
    /** The secret as a link for authenticator apps. */
    val otpauthUrl: String,
    /** The secret as a QR code, in SVG. */
    val qrSvg: String,
) {
    override fun toString(): String = "TwoFactorSetup"

    fun toJson(): JSONObject = JSONObject()
        .put("secret", secret)
        .put("otpauthUrl", otpauthUrl)
        .put("qrSvg", qrSvg)

    companion object {
        fun from(json: JSONObject): TwoFactorSetup = TwoFactorSetup(
            secret = json.getString("secret"),
            otpauthUrl = json.getString("otpauthUrl"),
            qrSvg = json.getString("qrSvg"),
        )
    }
}

/** The documents of the app and its servers for the signed-in user. */
data class UserData(
    /** The document that the app writes; empty until the first change. */
    val data: JSONObject,
    /** Changes with `data`: send it to change only the document that was read; the part of the `ETag` before the dot. */
    val version: String,
    /** When `data` was last changed; null if it never was. */
    val updatedAt: Instant? = null,
    /** The document that servers write; the app can only read it. */
    val serverData: JSONObject,
    /** Changes with `serverData`. */
    val serverVersion: String,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("data", data)
        .put("version", version)
        .put("updatedAt", updatedAt?.let { toJson(it) })
        .put("serverData", serverData)
        .put("serverVersion", serverVersion)

    companion object {
        fun from(json: JSONObject): UserData = UserData(
            data = json.getJSONObject("data"),
            version = json.getString("version"),
            updatedAt = if (json.isNull("updatedAt")) null else Instant.parse(json.getString("updatedAt")),
            serverData = json.getJSONObject("serverData"),
            serverVersion = json.getString("serverVersion"),
        )
    }
}

/** A user. */
data class UserProfile(
    /** Id of the user: pass it to the billing SDK as the app user id (UUIDv7). */
    val id: String,
    /** How the account was created: `email`, `google`, `apple`, `oidc`, `passkey`, `guest`. Later versions may add others. */
    val loginType: String,
    /** As entered; empty for a guest. */
    val email: String,
    /** Whether the address is verified. */
    val emailVerified: Boolean,
    /** The fields that the user can change. */
    val profile: Profile,
    /** The state of two-factor authentication. */
    val twoFactor: TwoFactor,
    /** Stored for the app. */
    val onboardingCompleted: Boolean,
) {
    fun toJson(): JSONObject = JSONObject()
        .put("_id", id)
        .put("loginType", loginType)
        .put("email", email)
        .put("emailVerified", emailVerified)
        .put("profile", profile.toJson())
        .put("twoFactor", twoFactor.toJson())
        .put("onboardingCompleted", onboardingCompleted)

    companion object {
        fun from(json: JSONObject): UserProfile = UserProfile(
            id = json.getString("_id"),
            loginType = json.getString("loginType"),
            email = json.getString("email"),
            emailVerified = json.getBoolean("emailVerified"),
            profile = Profile.from(json.getJSONObject("profile")),
            twoFactor = TwoFactor.from(json.getJSONObject("twoFactor")),
            onboardingCompleted = json.getBoolean("onboardingCompleted"),
        )
    }

    /** The fields that the user can change. */
    data class Profile(
        /** Empty until it is set. */
        val name: String,
        /** BCP 47, such as `pt-BR`. */
        val locale: String,
        /** IANA name such as `Europe/Berlin`, `utc`, or an offset such as `+05:30`. */
        val timezone: String,
        /** ISO 4217 in lower case, such as `usd`. */
        val currency: String,
        /** The user’s avatar; null for none. */
        val avatarUrl: String? = null,
    ) {
        fun toJson(): JSONObject = JSONObject()
            .put("name", name)
            .put("locale", locale)
            .put("timezone", timezone)
            .put("currency", currency)
            .put("avatarUrl", avatarUrl)

        companion object {
            fun from(json: JSONObject): Profile = Profile(
                name = json.getString("name"),
                locale = json.getString("locale"),
                timezone = json.getString("timezone"),
                currency = json.getString("currency"),
                avatarUrl = if (json.isNull("avatarUrl")) null else json.getString("avatarUrl"),
            )
        }
    }

    /** The state of two-factor authentication. */
    data class TwoFactor(
        /** Whether two-factor authentication is on. */
        val enabled: Boolean,
        /** The accepted two-factor methods; empty while two-factor is off. */
        val methods: List<String>,
        /** Recovery codes not used yet. */
        val recoveryCodesLeft: Long,
    ) {
        fun toJson(): JSONObject = JSONObject()
            .put("enabled", enabled)
            .put("methods", arrayOfJson(methods.map { it }))
            .put("recoveryCodesLeft", recoveryCodesLeft)

        companion object {
            fun from(json: JSONObject): TwoFactor = TwoFactor(
                enabled = json.getBoolean("enabled"),
                methods = json.getJSONArray("methods").let { list -> listFrom(list) { list.getString(it) } },
                recoveryCodesLeft = json.getLong("recoveryCodesLeft"),
            )
        }
    }
}
