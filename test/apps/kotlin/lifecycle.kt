package androidx.lifecycle

import android.app.Application
import kotlinx.coroutines.CoroutineScope

interface LifecycleOwner

val LifecycleOwner.lifecycleScope: CoroutineScope get() = TODO()

abstract class ViewModel {
    protected open fun onCleared() {}
}

abstract class AndroidViewModel(application: Application) : ViewModel()

val ViewModel.viewModelScope: CoroutineScope get() = TODO()
