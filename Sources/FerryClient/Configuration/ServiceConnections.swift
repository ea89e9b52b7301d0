internal import Synchronization

/// The connections of the process, one for each service. Each has a thread, so sessions of one service share it.
enum ServiceConnections {
  private static let open = Mutex<[FerryServer: ServiceConnection]>([:])

  /// Returns the connection to a service.
  static func connection(to server: FerryServer) throws(FerryError) -> ServiceConnection {
    let address: ServiceAddress
    do throws(ServiceAddress.Fault) {
      address = try ServiceAddress(server.url, token: server.token)
    } catch { throw FerryError(.serviceUnreachable, message: "\(error)") }
    return open.withLock { open in
      if let connection = open[server] { return connection }
      let connection = ServiceConnection(address, certificateAuthorities: server.certificateAuthorities)
      open[server] = connection
      return connection
    }
  }
}
