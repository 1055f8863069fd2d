package org.json

class JSONException(message: String) : Exception(message)

class JSONArray(values: Collection<*>) {
    fun length(): Int = TODO()
    fun getJSONObject(index: Int): JSONObject = TODO()
}

class JSONObject() {
    constructor(json: String) : this()

    fun put(name: String, value: Any?): JSONObject = TODO()
    fun isNull(name: String): Boolean = TODO()
    fun getBoolean(name: String): Boolean = TODO()
    fun getString(name: String): String = TODO()
    fun optString(name: String): String = TODO()
    fun getJSONArray(name: String): JSONArray = TODO()
    fun getJSONObject(name: String): JSONObject = TODO()
}
