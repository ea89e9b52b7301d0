internal import CMicroHTTPD

/// A suspended connection's end is invisible to libmicrohttpd: its descriptor is watched beside it.
struct DepartureWatch {
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
