internal import Synchronization

/// The current authenticator, which a reload can replace. Each request is checked once, by the authenticator of that time. Requests
/// that were admitted before continue.
package final class ReloadableAuthenticator: Sendable {
  private let place: Mutex<RequestAuthenticator>

  package init(_ current: RequestAuthenticator) { place = Mutex(current) }

  package var current: RequestAuthenticator { place.withLock { $0 } }

  package func replace(by current: RequestAuthenticator) { place.withLock { $0 = current } }
}
