internal import CMicroHTTPD

/// The watch for a client that disconnects. libmicrohttpd does not notice the end of a suspended connection, so Ferry watches the
/// descriptor too.
struct DisconnectWatch {
  private var isOn = false

  mutating func start(for exchange: Exchange) {
    guard !isOn else { return }
    isOn = true
    exchange.daemon.watch(cmhd_descriptor(exchange.connection), exchange)
  }

  mutating func stop(for exchange: Exchange) {
    guard isOn else { return }
    isOn = false
    exchange.daemon.unwatch(cmhd_descriptor(exchange.connection))
  }
}
