package androidx.compose.runtime

import kotlin.reflect.KProperty
import kotlinx.coroutines.flow.StateFlow

@Target(AnnotationTarget.FUNCTION, AnnotationTarget.TYPE)
annotation class Composable

interface State<out T> {
    val value: T
}

interface MutableState<T> : State<T> {
    override var value: T
}

operator fun <T> State<T>.getValue(thisObj: Any?, property: KProperty<*>): T = value

operator fun <T> MutableState<T>.setValue(thisObj: Any?, property: KProperty<*>, value: T) {
    this.value = value
}

fun <T> mutableStateOf(value: T): MutableState<T> = TODO()

@Composable
fun <T> StateFlow<T>.collectAsState(): State<T> = TODO()
